"""Writes a dataset in a given order, for `shuffle` and `sort`; `rust/jinx-order/src/rewrite.rs` does the work."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jinx import _core
from jinx._arguments import require_function
from jinx._convert.formats import format_of
from jinx._dataset.columns import schema_if_empty
from jinx._dataset.dataset import Dataset
from jinx._dataset.stored_bytes import file_sizes, stored_bytes
from jinx._dataset.summary import extra_indexed
from jinx._disk_space import require_space
from jinx._malloc import give_freed_memory_back
from jinx._order.memory_limit import memory_bound
from jinx._outputs import output_name, refuse_existing, refuse_input, refuse_stdout, refuse_within
from jinx._results import OrderResult, WriteResult
from jinx._rewrite.options import OrderOptions, require_known
from jinx._sizes import shard_bytes
from jinx.errors import JinxError

Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Dataset
Plan = Literal["one pass", "two passes", "view"]
Progress = Callable[[int, int, int | None], None]


@dataclass(frozen=True, slots=True)
class Job:
    """One shuffle or sort: its input, its output and its limits.

    Attributes:
        dataset: The samples.
        out: The output.
        memory: Bytes that may be used.
        view: Save a view instead of copying.
        overwrite: Replace an existing output.
        shard_size: The size of the shards of a directory.
        progress: Called with samples, bytes done and total bytes.
        started: When the call began, in seconds.
    """

    dataset: Dataset
    out: str
    memory: int
    view: bool
    overwrite: bool
    shard_size: int | str | None
    progress: Progress | None
    started: float

    @classmethod
    def of(
        cls,
        source: Source,
        out: str | os.PathLike[str],
        options: OrderOptions,
        progress: Progress | None,
    ) -> "Job":
        """Open the input, and refuse an output that cannot be written."""
        started = time.monotonic()
        require_known(options, OrderOptions)
        require_function("progress", progress)
        view, overwrite = options.get("view", False), options.get("overwrite", False)
        where, shard_size = options.get("where"), options.get("shard_size")
        bound = memory_bound(options.get("memory"))
        target = output_name(out)
        refuse_stdout(target)
        if not overwrite:
            refuse_existing(target)
        refuse_within(target, source)
        _refuse_other_formats(target)
        dataset = _opened(source)
        if dataset._transforms:
            raise TypeError(
                "samples are rewritten as they are stored, without the functions given to map or with_transform; write "
                "them first: jinx.convert(ds, 'new.jinx')"
            )
        refuse_input(target, [path for root in dataset._root_files() for path in root.paths] + dataset._shard_paths)
        if where is not None:
            dataset = dataset.filter(where)
        return cls(dataset, target, bound, view, overwrite, shard_size, progress, started)

    @property
    def folder(self) -> str:
        """The directory of the output, for temporary files."""
        return os.path.dirname(os.path.abspath(self.out))  # noqa: PTH100, PTH120 - str in, str out


def write(job: Job, ordering: _core.Ordering, *, missing: int = 0, seed: int | None = None) -> OrderResult:
    """Write the samples of a job in an order."""
    if job.view:
        import numpy as np

        from jinx._dataset.selection import at

        positions = np.frombuffer(ordering.positions(0, len(ordering)), dtype="<u8").astype(np.int64)
        saved = at(job.dataset, positions).save(job.out, overwrite=job.overwrite, shard_size=job.shard_size)
        return _result(job, saved, "view", temporary=0, missing=missing, seed=seed)
    # Samples without a key may be left out.
    stored = stored_bytes(job.dataset) * len(ordering) // max(1, len(job.dataset))
    values = _sidecar_values(job.dataset) if stored > job.memory else None
    runs, temporary = _core.plan_order(len(ordering), stored, job.memory, values)
    require_space(job.out, stored + temporary)
    writer = _writer(job)
    try:
        writer.inherit(job.dataset, [], [], None, untyped=False)
        if runs is not None:
            # Give the memory of the sort keys back to the system, which then caches files in it.
            give_freed_memory_back()
        plan = (runs, stored, job.memory)
        tell = _in_bytes(job.progress, len(ordering), stored)
        written = _core.reorder(writer, job.dataset, ordering, plan, tell)
        done = WriteResult.of(job.out, writer.close())
    except BaseException:
        writer.abort()
        raise
    return _result(
        job, done, "one pass" if runs is None else "two passes", temporary=written, missing=missing, seed=seed
    )


def _refuse_other_formats(out: str) -> None:
    """Refuse other formats: samples are copied as they are stored.

    Raises:
        ValueError: The suffix names another format.
    """
    output_format = format_of(out)
    if output_format not in {None, "jinx"}:
        raise ValueError(
            f"{out}: the output is JINX, not {output_format}: a name that ends in .jinx, or a directory; then run "
            "jinx convert"
        )


def _opened(source: Source) -> Dataset:
    if isinstance(source, Dataset):
        return source
    from jinx._open import open

    return open(source)


def _writer(job: Job) -> _core.Writer:
    shard_size = shard_bytes(job.out, job.shard_size)
    return _core.Writer(
        job.out,
        indexed=extra_indexed(job.dataset) or None,
        overwrite=job.overwrite,
        shard_size=shard_size,
        arrow_schema=schema_if_empty(job.dataset),
    )


def _in_bytes(progress: Progress | None, samples: int, stored: int) -> Callable[[int, int], None] | None:
    """Convert the core's progress, samples over all passes, to samples and bytes."""
    if progress is None:
        return None

    def tell(done: int, total: int) -> None:
        share = done / total if total else 1.0
        progress(round(share * samples), round(share * stored), stored)

    return tell


def _sidecar_values(dataset: Dataset) -> tuple[int, Path] | None:
    """The approximate number of bytes of a sample in sidecars, and the path of the largest sidecar.

    Returns None for formats other than JINX, and if the file has been removed since it was opened.
    """
    roots = dataset._root_files()
    if any(root.kind != "jinx" for root in roots):
        return None
    sizes = [
        (sidecar, path)
        for root in roots
        for path, (_, sidecar) in zip(root.paths, file_sizes(dataset, root), strict=True)
    ]
    size, main = max(sizes, default=(0, ""))
    try:
        largest = _core.sidecar_of(main) if size else None
    except (JinxError, OSError):
        return None
    if largest is None:
        return None
    return sum(size for size, _ in sizes) // max(1, sum(root.samples for root in roots)), largest


def _result(job: Job, done: WriteResult, plan: Plan, *, temporary: int, missing: int, seed: int | None) -> OrderResult:
    return OrderResult(
        path=done.path,
        samples=done.samples,
        shards=done.shards,
        bytes=done.bytes,
        sidecar_bytes=done.sidecar_bytes,
        plan=plan,
        temporary_bytes=temporary,
        missing=missing,
        seed=seed,
        seconds=round(time.monotonic() - job.started, 3),
    )
