"""`Writer.copy`: copies samples as they are stored; `rust/jinx-py/src/writer/copy.rs` does the work."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jinx import _core
from jinx._dataset.positions import positions as chosen_positions
from jinx._dataset.selection import at, require_columns
from jinx._optional import require

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset

# Signals are handled between calls, and replaced columns take memory for one call at a time.
_CHUNK_SAMPLES = 8192
# Memory for a copy in the order of its source, which needs only buffers.
_COPY_MEMORY = 256 << 20


def copy_samples(
    writer: _core.Writer, dataset: "Dataset", chosen: Any, replace: Mapping[str, Any], drop: Sequence[str]
) -> None:
    """See `Writer.copy`."""
    import numpy as np

    if dataset._transforms:
        raise TypeError(
            "copy takes samples as they are stored, without the functions given to map or with_transform; write the "
            "samples instead: writer.write_many(ds)"
        )
    require_columns(dataset, drop)
    view = dataset if chosen is None else at(dataset, chosen_positions(chosen, len(dataset)))
    own = OwnColumns(replace, len(view))
    hidden = [*drop, *replace]
    if writer.inherit(view, hidden, list(replace), own.schema(), untyped=own.untyped):
        import warnings

        warnings.warn(
            "the datasets copied have different Arrow schemas; the copy has none, and types are inferred when needed",
            stacklevel=3,
        )
    over_files = view._indices
    for start in range(0, len(view), _CHUNK_SAMPLES):
        stop = min(start + _CHUNK_SAMPLES, len(view))
        part = np.arange(start, stop, dtype="<u8").tobytes() if over_files is None else over_files[8 * start : 8 * stop]
        values, table = own.part(start, stop)
        writer.copy(view, part, hidden, values, table, own_only=False)


def copy_all(
    writer: _core.Writer, dataset: "Dataset", stored_bytes: int, progress: Callable[[int, int, int | None], None] | None
) -> None:
    """Copy the samples of a dataset or view as all samples of an output.

    Args:
        writer: The writer, without samples; it takes no other samples.
        dataset: A dataset or view without functions.
        stored_bytes: The approximate number of bytes that its samples take.
        progress: Called with samples, bytes done and None.
    """

    def tell(samples: int, total: int) -> None:
        if progress is not None:
            progress(samples, stored_bytes * samples // max(total, 1), None)

    writer.inherit(dataset, [], [], None, untyped=False)
    unchanged = _core.Ordering.unchanged(len(dataset))
    plan = (None, stored_bytes, _COPY_MEMORY)
    _core.reorder(writer, dataset, unchanged, plan, None if progress is None else tell)


class OwnColumns:
    """Columns to write instead of or next to the dataset's: lists, arrays and Arrow arrays with a value per sample.

    Raises:
        ValueError: A column has another length than `samples`.
    """

    def __init__(self, columns: Mapping[str, Any], samples: int) -> None:
        self._plain: dict[str, Any] = {}
        arrow: dict[str, Any] = {}
        for name, values in columns.items():
            if len(values) != samples:
                raise ValueError(f"the column {name!r} has {len(values)} values for {samples} samples")
            is_arrow = hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__")
            (arrow if is_arrow else self._plain)[name] = values
        self._table: Any = None
        if arrow:
            pyarrow = require("pyarrow", extra="arrow", what="A column given as an Arrow array")
            arrow_types = pyarrow.Array | pyarrow.ChunkedArray
            self._table = pyarrow.table(
                {
                    name: values if isinstance(values, arrow_types) else pyarrow.chunked_array(values)
                    for name, values in arrow.items()
                }
            )

    @property
    def untyped(self) -> bool:
        """Whether the Arrow type of any column is unknown."""
        return bool(self._plain)

    def schema(self) -> Any:
        """An Arrow stream without rows for the columns with known types; None if there are no such columns."""
        return None if self._table is None else self._table.slice(0, 0)

    def part(self, start: int, stop: int) -> tuple[list[tuple[str, Any]], Any]:
        """The values of some samples: lists for plain columns, and an Arrow stream for the other columns."""
        plain = [(name, _part(values, start, stop)) for name, values in self._plain.items()]
        return plain, None if self._table is None else self._table.slice(start, stop - start)


def _part(values: Any, start: int, stop: int) -> Any:
    part = values[start:stop]
    # Return the numbers of an array as Python numbers, not as numpy scalars; rows of a matrix stay arrays.
    return part.tolist() if getattr(part, "ndim", 0) == 1 and hasattr(part, "tolist") else part
