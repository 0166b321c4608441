"""Writes JINX with Ray Data: tasks write parts, and the driver publishes one part of each task."""

import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jinx
from jinx._sizes import parse_size
from jinx_pipeline.optional import require
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.publish.outputs import write_output
from jinx_pipeline.publish.place import put_in_place
from jinx_pipeline.publish.shards import assemble, groups_of, write_empty, write_shard
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.recipe.output_kind import kind_of

_ray_data: Any = require("ray.data", extra="ray", what="jinx_pipeline.ray_data")
_ray_block: Any = require("ray.data.block", extra="ray", what="jinx_pipeline.ray_data")


class JinxDatasink(_ray_data.Datasink):
    """The sink for `ds.write_datasink`; the output appears atomically.

    A retried task writes another part with the same number. When all tasks have ended, one part of each number is
    published, in the order of the numbers. This is the order of the dataset if
    `DataContext.get_current().execution_options.preserve_order` is set, and otherwise the order of arrival.

    Args:
        path: The output, on storage that every node sees: `out.jinx`, or a directory of shards.
        overwrite: Replace an existing output.
        **writer: Keywords of `jinx.Writer`, such as `shard_size` or `indexed`.

    Raises:
        FileExistsError: The output exists.
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False, **writer: Any) -> None:
        self._out = Path(path).absolute()
        self._export = Export(str(self._out), kind_of(str(self._out)), writer.get("shard_size"), overwrite=overwrite)
        self._writer = writer
        if os.path.lexists(self._out) and not overwrite:
            raise FileExistsError(f"{self._out} exists; to replace it: overwrite")
        self._parts = self._out.with_name(f".{self._out.name}.{secrets.token_hex(6)}.parts")

    def on_write_start(self, schema: Any = None) -> None:
        """Make the directory of the parts."""
        del schema
        self._parts.mkdir(parents=True)

    def write(self, blocks: Iterable[Any], ctx: Any) -> tuple[int, str | None]:
        """Write a part; returns the number of its task, and its name if it has rows."""
        part = self._parts / f"{ctx.task_idx:06}-{secrets.token_hex(6)}"
        tables = (_ray_block.BlockAccessor.for_block(block).to_arrow() for block in blocks)
        with jinx.Writer(part, **self._writer) as writer:
            for table in tables:
                for batch in table.to_batches(max_chunksize=1000):
                    writer.write_many(batch.to_pylist())
            result = writer.close()
        return ctx.task_idx, part.name if result.samples else None

    def on_write_complete(self, write_result: Any) -> None:
        """Publish one part for each task number."""
        parts: dict[int, str | None] = {}
        for number, name in write_result.write_returns:
            parts.setdefault(number, name)
        written = [self._parts / name for _, name in sorted(parts.items()) if name is not None]
        staged = self._directory_of(written) if self._export.is_directory else self._file_of(written)
        put_in_place(self._export, staged, replaces=self._export.overwrite)
        shutil.rmtree(self._parts, ignore_errors=True)

    def _directory_of(self, parts: list[Path]) -> Path:
        whole = self._parts / "whole"
        if not parts:
            write_empty(whole, None, self._writer)
            return whole
        infos = [jinx.open(part).info() for part in parts]
        size = self._export.shard_size
        sizes = [info.bytes + info.sidecar_bytes for info in infos]
        shards: list[Path] = []
        for group in groups_of(sizes, None if size is None else parse_size(size)):
            shards.append(parts[group[0]])
            if len(group) > 1:
                shards[-1] = self._parts / f"shard-{len(shards)}"
                write_shard(shards[-1], [parts[index] for index in group], self._writer)
        assemble(whole, shards)
        return whole

    def _file_of(self, parts: list[Path]) -> Path:
        folder = self._parts / "whole"
        folder.mkdir()
        source = Source((), tuple(map(str, parts)))
        write_output(self._export, folder, OpenSource(source), self._writer)
        return folder / self._out.name

    def on_write_failed(self, error: Exception) -> None:
        """Remove the parts."""
        del error
        shutil.rmtree(self._parts, ignore_errors=True)

    def get_name(self) -> str:
        """The name of the operator in Ray's progress."""
        return "Jinx"
