"""Handles samples that are longer than planned: truncates or drops them (`oversize=`), and counts what was lost."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from jinx.errors import LimitError
from jinx.torch._encoding import TrainingSample

Oversize = Literal["truncate", "drop", "error"]
_REMEDY = "oversize='error' names the first one, oversize='truncate' accepts it"


@dataclass(slots=True)
class Tally:
    """Counts of packs, samples and tokens in some batches, and of what was lost."""

    packs: int = 0
    fillers: int = 0
    samples: int = 0
    tokens: int = 0
    capacity: int = 0
    images: int = 0
    label_tokens: int = 0
    truncated: int = 0
    dropped: int = 0
    skipped: int = 0
    empty: int = 0
    # The number of truncated samples that the plan already truncates.
    cut_as_planned: int = 0

    def add(self, other: "Tally") -> None:
        """Add the counts of other batches."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def has_losses(self) -> bool:
        """Whether a sample, or a part of one, was left out because it did not fit."""
        return self.dropped > 0 or self.truncated > self.cut_as_planned

    def warn_of_losses(self, where: str, why: str, by_plan: str | None = None) -> None:
        """Tell the user what was left out, if anything was, in one warning.

        Args:
            where: What the counts are about, such as an epoch.
            why: The limit that the samples exceed.
            by_plan: The samples that the plan already left out.
        """
        losses = [] if by_plan is None else [by_plan]
        if self.has_losses():
            losses.append(
                f"{where}: {self.dropped:,} samples were left out and {self.truncated - self.cut_as_planned:,} lost "
                f"their end, because they are longer than {why}; {_REMEDY}"
            )
        if losses:
            warnings.warn(". ".join(losses), stacklevel=4)

    def warn_of_first_loss(self, where: str) -> None:
        """Warn that something was left out, if that was not known when all samples were requested."""
        if self.has_losses():
            what = "was left out" if self.dropped else "lost its end"
            warnings.warn(
                f"{where}: a sample {what}, because it is longer than it was planned; of others in this epoch there is "
                f"no warning; {_REMEDY}",
                stacklevel=4,
            )


@dataclass(frozen=True)
class Fitting:
    """Fits samples into a pack of limited length.

    Args:
        max_length: Tokens that a pack may hold.
        oversize: What to do with a sample that does not fit: cut off its end, leave it out, or raise an error.
        skips_errors: Whether a sample that cannot be read or encoded is left out; otherwise its error is raised.
        cut: The samples that were planned with their first `max_length` tokens; None: none.
    """

    max_length: int
    oversize: Oversize
    skips_errors: bool
    cut: npt.NDArray[np.int64] | None = None

    def pack(
        self, samples: Sequence[TrainingSample | Exception], tally: Tally, skipped: list[Any]
    ) -> list[TrainingSample]:
        """The samples that fit, in order.

        Raises:
            LimitError: A sample does not fit, and `oversize` is `"error"`.
            Exception: The error of a sample, unless errors are skipped.
        """
        kept: list[TrainingSample] = []
        left = self.max_length
        for sample in samples:
            if isinstance(sample, Exception):
                if not self.skips_errors:
                    raise sample
                skipped.append(sample)
                tally.skipped += 1
                continue
            size = len(sample.input_ids)
            if size > left:
                shortened = self._shortened(sample, left, tally)
                if shortened is None:
                    continue
                sample, size = shortened, left  # noqa: PLW2901 - use the shortened sample
            left -= size
            kept.append(sample)
        tally.packs += 1
        tally.fillers += not samples
        tally.samples += len(kept)
        tally.empty += sum(not len(sample.input_ids) for sample in kept)
        tally.tokens += self.max_length - left
        tally.capacity += self.max_length
        tally.images += sum(len(sample.images) for sample in kept)
        return kept

    def _shortened(self, sample: TrainingSample, left: int, tally: Tally) -> TrainingSample | None:
        if self.oversize == "error":
            size = len(sample.input_ids)
            error = LimitError(
                f"sample {sample.position}: {size} tokens where its pack has room for {left}; plan with lengths that "
                "were counted as it is encoded, or choose oversize='truncate' or 'drop'"
            )
            error.sample = sample.position
            raise error
        # An image whose tokens are cut off would no longer match them.
        if self.oversize == "drop" or not left or sample.images:
            tally.dropped += 1
            return None
        tally.truncated += 1
        tally.cut_as_planned += left == self.max_length and self._is_cut(sample.position)
        return sample.cut(left)

    def _is_cut(self, position: int) -> bool:
        if self.cut is None or not len(self.cut):
            return False
        place = min(int(np.searchsorted(self.cut, position)), len(self.cut) - 1)
        return bool(self.cut[place] == position)
