"""Reads JINX with Ray Data."""

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import jinx
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    import pyarrow as pa

_ray_data: Any = require("ray.data", extra="ray", what="jinx_pipeline.ray_data")
_ray_block: Any = require("ray.data.block", extra="ray", what="jinx_pipeline.ray_data")

_BATCH_ROWS = 1024
_BATCH_BYTES = 32 << 20


class JinxDatasource(_ray_data.Datasource):
    """The source for `ray.data.read_datasource`; each task reads its own rows.

    Args:
        path: A dataset, a saved view, or several of them, on storage that every node sees.
        columns: The columns to read; None: all.
        blobs: The values of binary columns: `"bytes"`, or `"references"` of about 100 bytes, which `load_blobs` turns
            into bytes when they are needed, so that media do not pass through the object store.

    Raises:
        FileNotFoundError: There is nothing at the path.
        KeyError: There is no such column.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        columns: Sequence[str] | None = None,
        blobs: Literal["bytes", "references"] = "bytes",
    ) -> None:
        super().__init__()
        if blobs not in ("bytes", "references"):
            raise ValueError(f"blobs is 'bytes' or 'references', not {blobs!r}")
        paths = [path] if isinstance(path, str | os.PathLike) else path
        self._paths = tuple(name if "://" in name else str(Path(name).absolute()) for name in map(os.fsdecode, paths))
        dataset = _opened(self._paths)
        self._names = list(dataset.column_names) if columns is None else list(columns)
        self._binary: list[str] = []
        if blobs == "references":
            self._binary = [name for name in self._names if "bytes" in str(dataset.schema[name])]
        dataset.select_columns(self._names)  # raises an error for an unknown column here instead of in a task
        self._rows = len(dataset)
        info = dataset.select_columns([name for name in self._names if name not in self._binary]).info()
        self._bytes = info.bytes + (0 if self._binary else info.sidecar_bytes)

    def estimate_inmemory_data_size(self) -> int:
        """The size in bytes of the files that are read."""
        return self._bytes

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[Any]:
        """Tasks that each read consecutive rows."""
        del data_context
        count = max(1, min(parallelism, self._rows))
        edges = [self._rows * task // count for task in range(count + 1)]
        tasks: list[Any] = []
        for first, last in pairwise(edges):
            size = self._bytes * (last - first) // max(self._rows, 1)
            metadata = _ray_block.BlockMetadata(
                num_rows=last - first, size_bytes=size, exec_stats=None, input_files=self._paths
            )
            task = _Read(self._paths, tuple(self._names), frozenset(self._binary), first, last)
            tasks.append(_ray_data.ReadTask(task, metadata, per_task_row_limit=per_task_row_limit))
        return tasks


class _Read:
    """The rows of one task, as tables."""

    def __init__(
        self, paths: tuple[str, ...], names: tuple[str, ...], references: frozenset[str], first: int, last: int
    ) -> None:
        self._paths = paths
        self._names = names
        self._references = references
        self._first = first
        self._last = last

    def __call__(self) -> Iterator["pa.Table"]:
        import pyarrow as pa

        dataset = _opened(self._paths)
        stored = [name for name in self._names if name not in self._references]
        rows = self._batch_rows(dataset)
        for first in range(self._first, max(self._last, self._first + 1), rows):
            last = min(first + rows, self._last)
            part = dataset.select(range(first, last))
            table = part.select_columns(stored).to_arrow(mixed="json") if stored else None
            references = _references(self._paths, range(first, last)) if self._references else None
            yield pa.table(
                {name: references if table is None or name in self._references else table[name] for name in self._names}
            )

    def _batch_rows(self, dataset: "jinx.Dataset") -> int:
        if self._references or not len(dataset):
            return _BATCH_ROWS
        info = dataset.info()
        return max(1, min(_BATCH_ROWS, _BATCH_BYTES * len(dataset) // max(info.bytes + info.sidecar_bytes, 1)))


def _references(paths: tuple[str, ...], rows: Sequence[int]) -> "pa.Array":
    """References to the blobs of some rows; they are the same for any column."""
    import pyarrow as pa

    kind = pa.struct([("jinx", pa.list_(pa.string())), ("row", pa.int64())])
    return pa.array([{"jinx": list(paths), "row": row} for row in rows], kind)


def load_blobs(batch: "pa.Table", columns: Sequence[str]) -> "pa.Table":
    """Replace references by bytes: `ds.map_batches(load_blobs, batch_format="pyarrow", fn_kwargs={"columns": [...]})`.

    Args:
        batch: An Arrow table.
        columns: Columns with references.

    Raises:
        ValueError: A column holds other values than references.
    """
    import pyarrow as pa

    for name in columns:
        references = batch[name].to_pylist()
        if not all(isinstance(value, dict) and value.keys() == {"jinx", "row"} for value in references):
            raise ValueError(f"column {name!r} does not hold references; read it with blobs='references'")
        values: list[Any] = [None] * len(references)
        places: dict[tuple[str, ...], list[int]] = {}
        for index, reference in enumerate(references):
            places.setdefault(tuple(reference["jinx"]), []).append(index)
        for paths, indices in places.items():
            samples = _opened(paths).take([references[index]["row"] for index in indices], [name])
            for index, sample in zip(indices, samples, strict=True):
                values[index] = sample.get(name)
        batch = batch.set_column(batch.schema.get_field_index(name), name, pa.array(values))
    return batch


@lru_cache(maxsize=8)
def _opened(paths: tuple[str, ...]) -> "jinx.Dataset":
    return jinx.open(paths[0] if len(paths) == 1 else list(paths))
