"""A column as an Arrow IPC stream, for programs: the page itself needs only counts."""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx._core import Reader
from jinx._dataset.columns import column, lengths
from jinx._dataset.selection import at
from jinx._optional import require
from jinx.errors import InvalidError

if TYPE_CHECKING:
    from jinx._viewer.charts import ChartColumn
    from jinx._viewer.kept import Kept

ARROW_STREAM = "application/vnd.apache.arrow.stream"
_BATCH = 1 << 16


def arrow_column(dataset: Reader, name: str, known: "ChartColumn | None", kept: "Kept | None",
                 ) -> Iterator[bytes]:  # fmt: skip
    """The parts of a stream with two columns: the numbers of the samples, and their values or lengths.

    Args:
        dataset: The dataset.
        name: The column as the page names it: `score`, `meta.width` or `len(text)`.
        known: What the page knows about it.
        kept: The samples; None: all.

    Raises:
        InvalidError: It does not hold numbers, strings or bools.
        MissingDependencyError: pyarrow is not installed.
    """
    arrow = require("pyarrow", extra="arrow", what="A column as Arrow")
    if known is None:
        raise InvalidError(f"{name} does not hold numbers, strings or bools, which /columns gives")
    values = None if known.kind == "names" else _numbers(dataset, name, known)
    total = len(dataset) if kept is None else len(kept)
    kind = arrow.string() if values is None else arrow.array(values[:0]).type
    schema = arrow.schema([("sample", arrow.uint32()), (name, kind)])

    def batch(start: int) -> Any:
        stop = min(start + _BATCH, total)
        samples = np.arange(start, stop, dtype=np.uint32) if kept is None else kept.numbers(start, stop)
        chosen = column(at(dataset, samples.astype(np.int64)), name) if values is None else values[samples]
        return arrow.record_batch([arrow.array(samples), arrow.array(chosen, kind)], schema=schema)

    # Read the first batch now: once the stream has begun, an error cannot be reported any more.
    first = batch(0)
    return _stream(arrow, schema, (first if start == 0 else batch(start) for start in range(0, max(total, 1), _BATCH)))


def _numbers(dataset: Reader, name: str, known: "ChartColumn") -> Any:
    if known.kind == "lengths":
        return lengths(dataset, name.removeprefix("len(").removesuffix(")"))
    return column(dataset, name)


def _stream(arrow: Any, schema: Any, batches: Iterator[Any]) -> Iterator[bytes]:
    buffer = io.BytesIO()

    def taken() -> bytes:
        data = buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
        return data

    with arrow.ipc.new_stream(buffer, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield taken()
    yield taken()
