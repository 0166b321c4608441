"""Writes the output of `concat`, `select`, `split`, `dedup` and `compact`: a copy in any format, or a saved view."""

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jinx._arguments import require_function
from jinx._convert.convert import Conversion
from jinx._convert.options import Progress, Settings
from jinx._dataset.stored_bytes import stored_bytes
from jinx._disk_space import require_space
from jinx._outputs import output_name, refuse_existing, refuse_stdout
from jinx._rewrite.options import RewriteOptions, require_known

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset
    from jinx._results import WriteResult

_OF_COPIES = ("output_format", "compression", "shard_size")
# In a saved view, a sample takes one position; the columns that the view adds are small in comparison.
_VIEW_BYTES = 16


@dataclass(frozen=True)
class Output:
    """One output, and the options to write it with.

    Attributes:
        path: The name of the output.
        view: Save a view, and copy no sample.
        overwrite: Replace what exists.
        options: Keywords of `jinx.convert`, for a copy; of a view only the size of shards.
        progress: As for `jinx.convert`.
    """

    path: str
    view: bool
    overwrite: bool
    options: dict[str, Any]
    progress: Progress | None = None

    @classmethod
    def of(cls, out: str | os.PathLike[str], options: RewriteOptions, progress: Progress | None) -> "Output":
        """Make an output and check its name and options.

        Raises:
            FileExistsError: The output exists, and `overwrite` is not set.
            TypeError: An option has another type, or is unknown; the message names the nearest one.
            ValueError: An option has no meaning for a view.
        """
        require_known(options, RewriteOptions)
        require_function("progress", progress)
        path, view, overwrite = output_name(out), options.get("view", False), options.get("overwrite", False)
        of_copies = {name: value for name, value in options.items() if name in _OF_COPIES and value is not None}
        refused = [name for name in of_copies if view and name != "shard_size"]
        if refused:
            raise ValueError(f"{refused[0]} is for copies; a view is saved without it")
        if of_copies.get("output_format", "jinx") == "jinx":
            refuse_stdout(path)
        if not overwrite:
            refuse_existing(path)
        return cls(path, view, overwrite, of_copies, progress)

    def write(self, dataset: "Dataset") -> "WriteResult":
        """Write a dataset, which appears when it is complete.

        Raises:
            OSError: There is not enough room on the disk; this is checked before anything is written.
        """
        total = self.require_space(dataset)
        return self._write(dataset, self.progress and _with_total(self.progress, total))

    def require_space(self, dataset: "Dataset") -> int:
        """Refuse a dataset that does not fit on the disk; returns the expected bytes.

        Raises:
            OSError: There is not enough room.
        """
        needed = _VIEW_BYTES * len(dataset) if self.view else stored_bytes(dataset)
        require_space(self.path, needed)
        return needed

    def write_part(self, dataset: "Dataset", path: str, before: "list[WriteResult]", total: int) -> "WriteResult":
        """Write one of several outputs under an unused name; `before` contains the outputs already written."""
        samples, done = (sum(getattr(part, name) for part in before) for name in ("samples", "bytes"))
        progress = self.progress and _with_total(self.progress, total, samples, done)
        return replace(self, path=path, overwrite=False)._write(dataset, progress)

    def suffix(self) -> str:
        """The suffix of the name of one of several outputs; empty for a directory."""
        kind = self.options.get("output_format", "jinx")
        is_directory = kind == "mds" or (kind == "jinx" and "shard_size" in self.options)
        return "" if is_directory else f".{kind}"

    def named(self, split: str) -> "Output":
        """This output with the name of a split, which only JINX files can store."""
        is_jinx = self.options.get("output_format", "jinx") == "jinx" and not self.view
        return replace(self, options={**self.options, "split": split}) if is_jinx else self

    def _write(self, dataset: "Dataset", progress: Progress | None) -> "WriteResult":
        if self.view:
            return dataset.save(self.path, overwrite=self.overwrite, shard_size=self.options.get("shard_size"))
        return Conversion(Settings(self.path, {**self.options, "overwrite": self.overwrite}), progress).dataset(dataset)


def _with_total(progress: Progress, total: int, samples: int = 0, done: int = 0) -> Progress:
    """Progress including the total of expected bytes, and the bytes that were written before."""
    return lambda more_samples, more_bytes, _: progress(
        samples + more_samples, done + more_bytes, max(total, done + more_bytes)
    )
