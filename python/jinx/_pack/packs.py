"""The packs of an epoch, and the sums of their sizes; `rust/jinx-pack` does the packing."""

import dataclasses
import json
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

from jinx import _core
from jinx._pack.config import PackConfig
from jinx._pack.sizes import IMAGES, TOKENS, Sizes
from jinx._suggest import hint
from jinx.errors import InvalidError, LimitError, MismatchError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# The number of packs whose sizes are summed at a time, so that a large plan needs little extra memory.
_BLOCK = 1 << 18
# Positions are 32 bits.
_MOST_DRAWS = 2**32 - 1


@dataclasses.dataclass(frozen=True, slots=True)
class LeftOut:
    """How many samples are in no pack, or only partly in one.

    Attributes:
        empty: Samples without tokens.
        oversize: Samples over a budget.
        truncated: Samples that are cut to their first tokens.
        filtered: Samples in packs that `PackPlan.only` left out.
    """

    empty: int
    oversize: int
    truncated: int
    filtered: int = 0


class Packs:
    """The packs of an epoch; `PackPlan` adds the schedule, facts, picture and file."""

    def __init__(  # noqa: PLR0917 - one argument for each part of a plan
        self,
        sizes: Sizes,
        config: PackConfig,
        offsets: Any,
        positions: Any,
        left_out: LeftOut,
        mask: str | None = None,
    ) -> None:
        self.config = config
        self.mask = mask
        """A hash of which packs of its epoch the plan kept; None if they follow from `config` alone."""
        self.stored_sizes = sizes
        """As they were given, before samples are truncated."""
        self._offsets = offsets
        self._positions = positions
        self._left_out = left_out
        for array in (offsets, positions, *sizes.columns.values()):
            array.flags.writeable = False

    @classmethod
    def make(cls, sizes: Sizes, config: PackConfig, threads: int = 0) -> "Self":
        """Pack samples with these sizes; `jinx.pack` finds the sizes.

        Raises:
            InvalidError: An option has an invalid value.
            LimitError: A sample is over a budget, and `oversize` is `"error"`.
        """
        import numpy as np

        config.check(len(sizes.samples))
        if config.oversize == "error":
            _refuse_oversize(sizes, config.budgets)
        require_least(sizes, config.least)
        columns: list[Any] = [sizes.columns[name] for name in config.budgets]
        offsets, positions, left_out = _core.pack(
            columns,
            list(config.budgets.values()),
            strategy=config.strategy,
            window=config.window,
            truncate=config.oversize == "truncate",
            sources=_draws(sizes.samples, config.weights, config.epoch),
            seed=config.seed,
            epoch=config.epoch,
            threads=threads,
        )
        arrays = [np.frombuffer(data, dtype="<u4").astype(np.uint32, copy=False) for data in (offsets, positions)]
        packs = cls(sizes, config, arrays[0], arrays[1], LeftOut(*left_out))
        return packs.kept_by(packs.has_least()) if config.least else packs

    def has_least(self) -> "npt.NDArray[np.bool_]":
        """Whether each pack has at least the sizes in `config.least`."""
        import numpy as np

        has_least = np.ones(len(self), dtype=np.bool_)
        for name, least in self.config.least.items():
            has_least &= self.totals(name) >= np.uint64(least)
        return has_least

    def kept_by(self, kept: "npt.NDArray[np.bool_]", mask: str | None = None) -> "Self":
        """The packs that a mask selects, as a plan with the same config."""
        import numpy as np

        lengths = np.diff(self.offsets.astype(np.int64))
        offsets = np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.uint32)
        positions = self.positions[np.repeat(kept, lengths)]
        left_out = dataclasses.replace(
            self.left_out,
            truncated=int((self.stored_sizes.columns[TOKENS][positions] > self.max_length).sum()),
            filtered=self.left_out.filtered + len(self.positions) - len(positions),
        )
        return type(self)(self.stored_sizes, self.config, offsets, positions, left_out, mask)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, pack: int) -> "npt.NDArray[np.int64]":
        import numpy as np

        number = operator.index(pack)
        if not -len(self) <= number < len(self):
            raise IndexError(f"pack {number} is out of range for {len(self)} packs")
        pack = number % len(self)
        return self._positions[self._offsets[pack] : self._offsets[pack + 1]].astype(np.int64)

    def __iter__(self) -> "Iterator[npt.NDArray[np.int64]]":
        return (self[pack] for pack in range(len(self)))

    def __repr__(self) -> str:
        budgets = ", ".join(f"{name} <= {budget}" for name, budget in self.budgets.items())
        return (
            f"{type(self).__name__}({len(self):,} packs of {len(self._positions):,} samples, {budgets}, "
            f"{self.efficiency:.2%} full, epoch {self.config.epoch})"
        )

    @property
    def budgets(self) -> dict[str, int]:
        """The limit of each size in a pack, `num_tokens` first."""
        return self.config.budgets

    @property
    def max_length(self) -> int:
        """The tokens of a full pack."""
        return self.budgets[TOKENS]

    @property
    def seed(self) -> int | None:
        """The seed for the order of samples and packs; None if they were not shuffled."""
        return self.config.seed

    @property
    def epoch(self) -> int:
        """The number of the epoch, which selects one of the orders of the seed."""
        return self.config.epoch

    @property
    def offsets(self) -> "npt.NDArray[np.uint32]":
        """The start of each pack in `positions`, and the end of the last one: uint32 of shape (len(plan) + 1,)."""
        return self._offsets

    @property
    def positions(self) -> "npt.NDArray[np.uint32]":
        """The samples of all packs, one pack after another: uint32."""
        return self._positions

    @cached_property
    def sizes(self) -> "dict[str, npt.NDArray[np.uint32]]":
        """The sizes of each sample, for budgets and other purposes: uint32 of shape (samples,).

        With `oversize="truncate"`, no sample has more than `max_length` tokens.
        """
        import numpy as np

        if self.config.oversize != "truncate":
            return self.stored_sizes.columns
        return {
            **self.stored_sizes.columns,
            TOKENS: np.minimum(self.stored_sizes.columns[TOKENS], np.uint32(self.max_length)),
        }

    @property
    def cut(self) -> "npt.NDArray[np.int64]":
        """The samples that are truncated (`oversize="truncate"`), in order."""
        import numpy as np

        if self.config.oversize != "truncate":
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(self.stored_sizes.columns[TOKENS] > self.max_length)

    @property
    def num_samples(self) -> tuple[int, ...]:
        """The number of samples of each source."""
        return self.stored_sizes.samples

    @property
    def left_out(self) -> LeftOut:
        """How many samples are in no pack, or only partly in one."""
        return self._left_out

    def totals(self, name: str, start: int = 0, stop: int | None = None) -> "npt.NDArray[np.uint64]":
        """The sums of one size in the packs `start` to `stop`: uint64, one number for each pack.

        Args:
            name: A name in `sizes`. With `^2` at its end (`"num_tokens^2"`), squares are summed: the cost of attention.
            start: The first pack; as in a slice, a negative number counts from the end.
            stop: The pack after the last one; by default all packs.
        """
        import numpy as np

        column = self.sizes[name.removesuffix("^2")]
        start, stop, _ = slice(start, stop).indices(len(self))
        sums = np.empty(max(stop - start, 0), dtype=np.uint64)
        for begin in range(start, stop, _BLOCK):
            ends = self._offsets[begin : min(begin + _BLOCK, stop) + 1].astype(np.int64)
            sizes = column[self._positions[ends[0] : ends[-1]]].astype(np.uint64)
            summed = np.add.reduceat(sizes**2 if name.endswith("^2") else sizes, ends[:-1] - ends[0])
            sums[begin - start : begin - start + len(summed)] = summed
        return sums

    @cached_property
    def efficiency(self) -> float:
        """The share of tokens in packs that belong to samples; the rest is padding. 1.0 if there are no packs."""
        return int(self.totals(TOKENS).sum()) / (len(self) * self.max_length) if len(self) else 1.0

    @cached_property
    def _sizes_hash(self) -> str:
        hashes = {name: _core.hash_bytes(column.tobytes()) for name, column in self.stored_sizes.columns.items()}
        return _core.hash_bytes(json.dumps(hashes).encode())

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that determines the plan, for JSON: its config, and hashes of the sizes and samples."""
        config = self.config.to_dict()
        config["weights"] = None if config["weights"] is None else list(config["weights"])
        return {
            "packer": _core.PACKER_VERSION,
            "samples": list(self.num_samples),
            "sizes": self._sizes_hash,
            "sources": list(self.stored_sizes.sources),
            "lengths": self.stored_sizes.lengths,
            **config,
            "mask": self.mask,
        }

    @property
    def fingerprint(self) -> str:
        """32 hex digits: two plans with the same fingerprint contain the same packs."""
        return _core.hash_bytes(json.dumps(self.identity, sort_keys=True).encode())

    def require(self, identity: Mapping[str, Any]) -> None:
        """Check that another plan is the same, for example the plan of a saved state.

        Args:
            identity: The `identity` of the other plan.

        Raises:
            MismatchError: The plans differ; the message names the differences.
        """
        own = self.identity
        # A missing entry differs from None, and True differs from 1.
        differing = [
            name
            for name in {**own, **identity}
            if name not in own or name not in identity or not _is_same(own[name], identity[name])
        ]
        if differing:
            differences = ", ".join(
                f"{name} is {_short(own.get(name))} and was {_short(identity.get(name))}" for name in differing
            )
            raise MismatchError(f"this plan is not the one of the saved state: {differences}")

    @property
    def has_images(self) -> bool:
        """Whether the number of images of the samples is known."""
        return IMAGES in self.stored_sizes.columns


def _draws(samples: Sequence[int], weights: Sequence[float] | None, epoch: int) -> list[tuple[int, int, int]]:
    """For each source: its samples, the number that this epoch draws, and where the previous epoch stopped.

    Fractions of a sample carry over to the next epochs, so that over any number of epochs each source is shown as often
    as its weight says, within one sample. The arithmetic is exact: a float is a fraction.

    Raises:
        LimitError: The weights ask for more samples than a plan can hold.
    """
    draws_of_sources: list[tuple[int, int, int]] = []
    for count, weight in zip(samples, weights or (1.0,) * len(samples), strict=True):
        per_epoch = Fraction(weight) * count
        before, after = (math.floor(per_epoch * epochs + Fraction(1, 2)) for epochs in (epoch, epoch + 1))
        draws_of_sources.append((count, after - before, before % count if count else 0))
    total = sum(draws for _, draws, _ in draws_of_sources)
    if total > _MOST_DRAWS:
        raise LimitError(
            f"the weights ask for more samples in an epoch than the {_MOST_DRAWS:,} that a plan holds; "
            "give smaller weights"
        )
    return draws_of_sources


def require_least(sizes: Sizes, least: Mapping[str, int]) -> None:
    """Refuse minimums that no pack can have.

    Raises:
        InvalidError: A name is not a size of the plan, or a number is out of range.
    """
    for name, number in least.items():
        if name.removesuffix("^2") not in sizes.columns:
            raise InvalidError(f"only: {name!r} is not a size of the plan{hint(name, sizes.columns)}")
        if not 0 <= number < 2**64:
            raise InvalidError(f"only: {number} is not a number of {name} that a pack can hold")


def _is_same(own: Any, saved: Any) -> bool:
    """Whether two values are equal and of equal types, except that a list may stand for a tuple, as in JSON."""
    if isinstance(own, Mapping) and isinstance(saved, Mapping):
        members, others = cast("Mapping[Any, Any]", own), cast("Mapping[Any, Any]", saved)
        return members.keys() == others.keys() and all(_is_same(members[name], others[name]) for name in members)
    if isinstance(own, list | tuple) and isinstance(saved, list | tuple):
        items, others = cast("Sequence[Any]", own), cast("Sequence[Any]", saved)
        return len(items) == len(others) and all(map(_is_same, items, others))
    return isinstance(own, bool) == isinstance(saved, bool) and own == saved


def _short(value: Any) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004


def _refuse_oversize(sizes: Sizes, budgets: Mapping[str, int]) -> None:
    for name, budget in budgets.items():
        column = sizes.columns[name]
        over = column > budget
        if over.any():
            sample = int(over.argmax())
            raise LimitError(
                f"sample {sample} has {name} {column[sample]}, more than the budget of {budget}; raise the budget, or "
                f"choose oversize='drop' or 'truncate' ({int(over.sum()):,} samples are over it)"
            )
