"""The exchange of keys between tasks: map tasks write them in partitions, and merge tasks merge the files."""

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.exchange.division import Division, divide
from jinx_pipeline.exchange.key_file import POSITION, KeyFiles, KeyFileWriter

if TYPE_CHECKING:
    from jinx_pipeline.operators.api.keyed import Exchanged, Partitioned


def write_keys(file: IO[bytes], operator: "Exchanged", signatures: pa.Table, partitions: int) -> None:
    """Write the keys of a block to sections `kind * partitions + partition`; the last section has sampled keys."""
    writer: KeyFileWriter | None = None
    for kind in range(operator.kinds):
        keys = operator.key_table(signatures, kind)
        if writer is None:
            writer = KeyFileWriter(file, len(signatures), operator.kinds * partitions + 1, keys.schema)
        ordered, bounds = operator.partitioned(keys, kind, partitions, None)
        _write_sections(writer, ordered, bounds)
        if kind == operator.kinds - 1:
            sample = operator.sample(keys)
            writer.write(keys.slice(0, 0) if sample is None else sample, is_sample=True)
            writer.close()


def merge_keys(file: IO[bytes], operator: "Exchanged", files: KeyFiles, division: Division, edges: Any) -> None:
    """Merge files into one file, with its partitions split according to `division`.

    Args:
        file: The file to write.
        operator: The operator that the keys belong to.
        files: The key files, in the order of the samples; each is read once.
        division: The division of all keys.
        edges: The result of `Exchanged.edges`, or None.
    """
    split, partitions = division.split, division.partitions * division.split
    samples = sum(header.samples for header in files.headers())
    writer: KeyFileWriter | None = None
    with files.held_open() as read:
        for section in range(division.kinds * division.partitions):
            kind, partition = divmod(section, division.partitions)
            keys = _joined(read(section))
            if writer is None:
                writer = KeyFileWriter(file, samples, division.kinds * partitions, keys.schema)
            if split == 1:
                writer.write(keys)
            else:
                ordered, bounds = operator.partitioned(keys, kind, partitions, edges)
                _write_sections(writer, ordered, bounds[partition * split : (partition + 1) * split + 1])
    if writer is not None:
        writer.close()


def edges_of(operator: "Exchanged", files: KeyFiles, division: Division) -> Any:
    """The edges of the partitions of merged files, if they depend on the keys of all samples."""
    return operator.edges(files.last(), division.partitions * division.split) if division.split > 1 else None


def exchanged(
    operator: "Partitioned", tables: Sequence[pa.Table], other: Sequence[pa.Table], max_keys: int
) -> tuple[KeyFiles, KeyFiles, Division]:
    """Write and merge keys in this process, as the tasks of a run do before looking at partitions.

    Args:
        operator: The operator that the keys belong to.
        tables: The signatures of all samples, in order.
        other: The signatures of the other dataset.
        max_keys: The maximum number of keys of a look.
    """
    other_operator = operator if operator.other is None else operator.other[1]
    partitions = operator.partitions(sum(table.num_rows for table in tables), max_keys)
    files = [_in_memory(write_keys, operator, table, partitions) for table in tables]
    other_files = [_in_memory(write_keys, other_operator, table, partitions) for table in other]
    keys, other_keys = KeyFiles(files), KeyFiles(other_files)
    division = divide(keys, other_keys, kinds=operator.kinds, partitions=partitions, max_keys=max_keys)
    if not division.runs:
        return keys, other_keys, division
    edges = edges_of(operator, keys, division)
    return (
        _merged(operator, keys, division, division.runs, edges),
        _merged(other_operator, other_keys, division, division.other_runs, edges),
        division,
    )


def _merged(operator: "Exchanged", files: KeyFiles, division: Division, runs: tuple[int, ...], edges: Any) -> KeyFiles:
    parts = [files.part(first, stop) for first, stop in pairwise(runs)]
    return KeyFiles([_in_memory(merge_keys, operator, part, division, edges) for part in parts])


def _in_memory(write: Any, *arguments: Any) -> bytes:
    file = io.BytesIO()
    write(file, *arguments)
    return file.getvalue()


def _joined(parts: Any) -> pa.Table:
    """Sections of several files as one table, with positions counted from the first file."""
    tables: list[pa.Table] = []
    for start, keys in parts:
        if start and POSITION in keys.column_names:
            column = keys.column_names.index(POSITION)
            positions = keys.column(column).to_numpy() + np.uint32(start)
            keys = keys.set_column(column, keys.schema.field(column), pa.array(positions))  # noqa: PLW2901 - new positions
        tables.append(keys)
    return pa.concat_tables(tables)


def _write_sections(writer: KeyFileWriter, ordered: pa.Table, bounds: "np.ndarray[Any, Any]") -> None:
    for first, stop in pairwise(bounds.tolist()):
        writer.write(ordered.slice(first, stop - first))
