"""`jinx.torch.Loader`, without worker processes: threads in Rust (`rust/jinx-py/src/prefetch`) read and decode."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import torch
from torch.utils.data import BatchSampler, RandomSampler, Sampler

from jinx._arguments import whole_number, worker_number
from jinx._core import Batches
from jinx._dataset.added_identity import identity_with_columns
from jinx._dataset.dataset import Dataset
from jinx._dataset.decode_media import DecodeSpec
from jinx._dataset.identity import require_identity
from jinx._dataset.selection import BlockOrder
from jinx._failed_iteration import refuses_after_error
from jinx.errors import InvalidError
from jinx.torch._block_order import epoch_in_blocks, required_order
from jinx.torch._collate import collate
from jinx.torch._loader_plan import required
from jinx.torch._sampler_identity import described_sampler

__all__ = ["Loader"]

_VERSION = 5
# The maximum number of epochs and of batches.
_LARGEST = 2**64 - 1
_OF_LOADER = ("batch_size", "shuffle", "sampler", "remainder", "seed")
_MEMBERS = {"version", "epoch", "batches", "generator", "dataset", *_OF_LOADER}


class Loader:
    """Batches of a dataset's samples, for a training loop.

    It replaces `torch.utils.data.DataLoader` over a dataset. While the loop runs, threads without the GIL read,
    decompress and, for `decode={"image": "numpy"}`, decode JPEG, PNG and WebP; no worker process pickles samples.
    Functions of `map` and Python decoders run in the thread of the loop.

    The order depends only on `seed` and the epoch, or on the sampler. `state_dict` holds the number of batches that the
    loop has received; a loader with the same arguments that loads this state resumes with the next batch.

    Args:
        dataset: A dataset from `jinx.open`, or a view.
        batch_size: Samples in a batch; None gives single samples, not collated unless `collate_fn` is given.
        shuffle: A new random order in each epoch. `"blocks"` mixes blocks of neighbours, as
            `Dataset.shuffle(blocks=True)`: a dataset in an object store is read in large pieces, each of them once.
        sampler: Indices of samples, for instance a `DistributedSampler`; excludes `shuffle`.
        batch_sampler: Lists of indices; excludes `batch_size`, `shuffle`, `sampler` and `remainder`.
        num_workers: Threads that read ahead, by default one less than there are cores; with 0, a batch is read when the
            loop asks for it.
        collate_fn: Makes a batch from a list of samples; by default `jinx.torch.collate`.
        pin_memory: Copy the tensors of a batch into page-locked memory, if there is a GPU.
        remainder: `"drop"` leaves out the last batch of an epoch if it is smaller.
        generator: The source of the random order, as for torch; `state_dict` includes its state.
        prefetch_factor: Batches that each worker reads ahead.
        columns: The columns to read; other columns are not in the batches.
        decode: As `Dataset.decode`.
        seed: The seed of the order, unless there is a `generator`.
        on_error: What to do with a sample that cannot be read: `"raise"` its error, which names file, sample and
            column, or `"skip"` it: the sample is left out of its batch, and the error is listed in `skipped`.

    Attributes:
        epoch: The epoch of the next iteration, from 0; each complete iteration adds one.
        skipped: (index, error) of each sample left out in this epoch.

    Raises:
        ValueError: Arguments exclude each other.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int | None = 1,
        *,
        shuffle: bool | Literal["blocks"] = False,
        sampler: Sampler[int] | Iterable[int] | None = None,
        batch_sampler: Sampler[list[int]] | Iterable[Sequence[int]] | None = None,
        num_workers: int | None = None,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        remainder: Literal["drop"] | None = None,
        generator: torch.Generator | None = None,
        prefetch_factor: int = 2,
        columns: str | Sequence[str] | None = None,
        decode: DecodeSpec = None,
        seed: int = 0,
        on_error: Literal["raise", "skip"] = "raise",
    ) -> None:
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or remainder):
            raise ValueError("batch_sampler excludes batch_size, shuffle, sampler and remainder")
        if sampler is not None and shuffle:
            raise ValueError("sampler excludes shuffle: the sampler gives the order")
        if batch_size is None and remainder:
            raise ValueError("batch_size=None gives single samples, so there is no remainder to drop")
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"batch_size={batch_size}: give at least 1, or None for single samples")
        if remainder not in {None, "drop"}:
            raise ValueError(f"remainder={remainder!r}: give 'drop' or None")
        if on_error not in {"raise", "skip"}:
            raise ValueError(f"on_error={on_error!r}: give 'raise' or 'skip'")
        if required_order(shuffle) and generator is not None:
            raise ValueError("shuffle='blocks' takes its order from seed; it excludes generator")
        whole_number("prefetch_factor", prefetch_factor, least=1)
        chosen = required(dataset) if columns is None else required(dataset).select_columns(columns)
        self.dataset = chosen if decode is None else chosen.decode(decode)
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.shuffle = shuffle
        self.drops_remainder = remainder == "drop"
        self.num_workers = spare_cores() if num_workers is None else worker_number("num_workers", num_workers, 0)
        self.collate_fn = collate_fn
        self.pin_memory = pin_memory
        self.generator = generator
        self.prefetch_factor = prefetch_factor
        self.seed = seed
        self.on_error = on_error
        self.epoch = 0
        self.skipped: list[tuple[int, Exception]] = []
        self._delivered = 0
        self._resume_after = 0
        self._generator_state: torch.Tensor | None = None
        # Loops that began before `set_epoch` or `load_state_dict` no longer change the position.
        self._positions_set = 0

    def __len__(self) -> int:
        """Batches of one epoch.

        Raises:
            TypeError: The sampler has no length.
        """
        if self.batch_sampler is not None:
            return len(self.batch_sampler)  # pyright: ignore[reportArgumentType]
        samples = len(self.dataset) if self.sampler is None else len(self.sampler)  # pyright: ignore[reportArgumentType]
        if self.batch_size is None:
            return samples
        return samples // self.batch_size if self.drops_remainder else -(-samples // self.batch_size)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration, also in a sampler that has epochs.

        Another epoch begins with its first batch, whatever was delivered of the current one.
        """
        number = whole_number("epoch", epoch, least=0)
        if number > _LARGEST:
            raise ValueError(f"epoch={number} is over {_LARGEST}")
        if number != self.epoch:
            self.epoch = number
            self._delivered = self._resume_after = 0
            self._generator_state = None
            self._positions_set += 1
        for sampler in (self.sampler, self.batch_sampler, getattr(self.batch_sampler, "sampler", None)):
            tell = getattr(sampler, "set_epoch", None)
            if tell is not None:
                tell(epoch)

    @refuses_after_error
    def __iter__(self) -> Iterator[Any]:
        resume_after, self._resume_after = self._resume_after, 0
        delivered = self._delivered = resume_after
        self.skipped = []
        if self.generator is not None:
            if self._generator_state is None:
                self._generator_state = self.generator.get_state()
            self.generator.set_state(self._generator_state)
        epoch, generator_state, positions_set = self.epoch, self._generator_state, self._positions_set
        blocks = self._blocks()
        batches = islice(iter(self._indices(blocks)), resume_after, None)
        depth = self.prefetch_factor * self.num_workers
        ahead = blocks and (blocks.starts.tolist(), blocks.size, blocks.mixed, resume_after * (self.batch_size or 1), 1)
        for outcomes in Batches(self.dataset, batches, None, self.num_workers, depth, ahead):
            samples = self._checked(outcomes)
            batch = self._finished(samples) if samples else None
            # Count the batch only now: a batch that raised was not received, and the next loader begins with it.
            delivered += 1
            # Of several loops, the position is that of the one that received a batch last.
            if positions_set == self._positions_set:
                self.epoch, self._delivered, self._generator_state = epoch, delivered, generator_state
            if samples:
                yield batch
        if positions_set == self._positions_set:
            self.epoch, self._delivered, self._generator_state = epoch + 1, 0, None

    def state_dict(self) -> dict[str, Any]:
        """The position of this loader and the identity of its dataset. Call it between two batches, and save it.

        The state of your own sampler is not included, except for the epoch: only its class, the settings that
        torch's samplers have, such as the number of replicas, and the indices of a list are compared.
        """
        generator = self._generator_state
        if generator is None and self.generator is not None:
            generator = self.generator.get_state()
        return {
            "version": _VERSION,
            "epoch": self.epoch,
            "batches": self._delivered or self._resume_after,
            **self._arguments,
            "generator": generator,
            "dataset": self._identity,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the next iteration resume after the last batch that the loop received from the saved loader.

        Raises:
            InvalidError: The value is not the state of a `Loader`, or this loader has other arguments.
            MismatchError: The state belongs to another dataset, another order of its samples, or other added columns.
        """
        self._require_state(state)
        self.set_epoch(state["epoch"])
        self._delivered = 0
        self._resume_after = state["batches"]
        self._generator_state = state["generator"]
        self._positions_set += 1

    @cached_property
    def _identity(self) -> dict[str, Any]:
        return identity_with_columns(self.dataset)

    @property
    def _arguments(self) -> dict[str, Any]:
        """The arguments that decide which samples are in which batch."""
        sampler = described_sampler(self.sampler if self.batch_sampler is None else self.batch_sampler)
        remainder = "drop" if self.drops_remainder else None
        values = (self.batch_size, self.shuffle, sampler, remainder, self.seed)
        return dict(zip(_OF_LOADER, values, strict=True))

    def _require_state(self, state: Any) -> None:
        """Refuse a state that is not from `state_dict` of a `Loader` with the same arguments."""
        saved: dict[str, Any] = {**state} if isinstance(state, Mapping) else {}
        if set(saved) != _MEMBERS or saved["version"] != _VERSION:
            raise InvalidError(
                "this is not a state that this Loader's state_dict returned, but that of another loader or version; "
                "resume with the version of jinx that saved it, or begin the epoch again"
            )
        require_identity(saved["dataset"], self._identity, "this state")
        is_ordered_by_seed = self.shuffle and self.generator is None
        for name, current in self._arguments.items():
            differs = type(saved[name]) is not type(current) or saved[name] != current
            if differs and (name != "seed" or is_ordered_by_seed):
                raise InvalidError(f"the saved loader had {name}={saved[name]!r}, this one has {current!r}")
        for name, limit in (("epoch", _LARGEST), ("batches", self._most_batches())):
            if type(saved[name]) is not int or not 0 <= saved[name] <= limit:
                raise InvalidError(f"this state is damaged: {name} is {saved[name]!r}, not between 0 and {limit:,}")
        self._require_generator(saved["generator"])

    def _most_batches(self) -> int:
        try:
            return len(self)
        except TypeError:  # only the sampler knows its length
            return _LARGEST

    def _require_generator(self, state: Any) -> None:
        if (state is None) != (self.generator is None):
            raise InvalidError("the saved loader had a generator and this one has none, or the other way round")
        if self.generator is None:
            return
        try:
            torch.Generator(self.generator.device).set_state(state)
        except (TypeError, RuntimeError) as error:
            raise InvalidError(f"this state is damaged: it holds no state of a generator ({error})") from error

    def _blocks(self) -> BlockOrder | None:
        is_by_blocks = self.shuffle == "blocks" and len(self.dataset) > 0
        return epoch_in_blocks(self.dataset, self.seed, self.epoch) if is_by_blocks else None

    def _indices(self, blocks: BlockOrder | None) -> Iterable[Sequence[int]]:
        """The batches of one epoch as lists of indices."""
        if self.batch_sampler is not None:
            return self.batch_sampler
        order: Iterable[int]
        if self.sampler is not None:
            order = self.sampler
        elif not self.shuffle or not len(self.dataset):  # torch cannot shuffle an empty dataset
            order = range(len(self.dataset))
        elif self.generator is not None:
            order = RandomSampler(self.dataset, generator=self.generator)
        elif blocks is not None:
            order = blocks.positions
        else:
            import numpy as np

            order = np.random.Generator(np.random.PCG64([self.seed, self.epoch])).permutation(len(self.dataset))
        if self.batch_size is None:
            return ([index] for index in order)
        return BatchSampler(order, self.batch_size, self.drops_remainder)  # pyright: ignore[reportArgumentType]

    def _checked(self, outcomes: list[tuple[int, Any]]) -> list[Any]:
        """The samples that could be read.

        Raises:
            Exception: The error of the first sample that could not be read, unless such samples are skipped.
        """
        samples: list[Any] = []
        for index, sample in outcomes:
            if not isinstance(sample, Exception):
                samples.append(sample)
            elif self.on_error == "raise":
                raise sample
            else:
                self.skipped.append((index, sample))
        return samples

    def _finished(self, samples: list[Any]) -> Any:
        if self.batch_size is None and self.batch_sampler is None:
            return samples[0] if self.collate_fn is None else self.collate_fn(samples[0])
        batch = (self.collate_fn or collate)(samples)
        return pinned(batch) if self.pin_memory and torch.cuda.is_available() else batch


def spare_cores() -> int:
    """The number of cores that this process may use, minus one."""
    return max(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 1) - 1


def pinned(batch: Any) -> Any:
    """The batch with all its tensors, even nested ones, in page-locked memory."""
    if isinstance(batch, torch.Tensor):
        return batch.pin_memory()
    if isinstance(batch, dict):
        return {name: pinned(value) for name, value in batch.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(batch, list):
        return [pinned(value) for value in batch]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(batch, tuple):
        return tuple(pinned(value) for value in batch)  # pyright: ignore[reportUnknownVariableType]
    return batch
