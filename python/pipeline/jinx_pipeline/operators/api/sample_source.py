"""The source of a batch: a jinx dataset, or a list of dicts."""

import json
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

from jinx._dataset.stored_ranges import StoredRanges
from jinx_pipeline.operators.api.column_values import own_copy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    import jinx

    Positions = npt.NDArray[np.int64]


# The column of the statistics that filters compute.
STATS: Final = "__dj__stats__"
# Columns that parts add if they are saved views: the row in the pipeline's input; the sample's id, if a splitter ran;
# and two JSON lists: the columns that this sample lacks but other samples have, and the columns whose value this sample
# keeps from the input but other samples do not.
ROW: Final = "__jinx_row__"
ID: Final = "__jinx_id__"
ABSENT: Final = "__jinx_absent__"
UNCHANGED: Final = "__jinx_unchanged__"
# Columns of parts that operators do not see and outputs do not have.
PRIVATE: Final = (ROW, ID, ABSENT, UNCHANGED)

# With more samples than this, the indexed numbers would take too much memory in a worker.
_MAX_NUMBERS = 16_000_000


class Source(Protocol):
    """Samples by position."""

    origin: Any

    def __len__(self) -> int:
        """The number of samples."""
        ...

    def names(self) -> list[str]:
        """The columns, over all samples."""
        ...

    def is_input(self, name: str) -> bool:
        """Whether the input has a column, perhaps only in other samples. Columns that operators add do not count."""
        ...

    def samples(self, positions: "Positions") -> list[MutableMapping[str, Any]]:
        """Samples that can be changed without changing the source."""
        ...

    def values(self, positions: "Positions", name: str) -> list[Any]:
        """The values of a column; None for samples without it."""
        ...

    def media_values(self, positions: "Positions", name: str, *, exact: bool = False) -> list[Any]:
        """Like `values`, but large bytes may be a `StoredRange`, of which readers take only what they need.

        Args:
            positions: The samples.
            name: The column.
            exact: Whether a writer must store the values like those of `values`.
        """
        ...

    def strings(self, positions: "Positions", path: str) -> list[str | None] | None:
        """The strings at a path without `[*]`; None if there are other values, or if `values` is as fast."""
        ...

    def numbers(self, positions: "Positions", path: str) -> "npt.NDArray[Any] | None":
        """The numbers of an indexed column, masked where missing; None if there are none or too many."""
        ...

    def copied(self, positions: "Positions") -> "Source":
        """The source with values of its own at these positions; itself if it reads new values on each access."""
        ...


def source_of(origin: Any) -> Source:
    """The source over a jinx dataset or a list of dicts.

    Raises:
        TypeError: The object is neither.
    """
    if isinstance(origin, ListSource | DatasetSource):
        return origin
    if isinstance(origin, Sequence) and not isinstance(origin, str | bytes):
        return ListSource(origin)
    if hasattr(origin, "take") and hasattr(origin, "column_names") and hasattr(origin, "select"):
        return DatasetSource(origin)  # pyright: ignore[reportArgumentType] - or an object with its methods
    raise TypeError(f"samples are a jinx dataset or a list of dicts, not {type(origin).__name__}")


def absent_columns(dataset: "jinx.Dataset", positions: "Positions") -> list[list[str]] | None:
    """The columns that each sample lacks but its part has; None if no part lists such columns."""
    return listed_columns(dataset, ABSENT, positions)


def listed_columns(dataset: "jinx.Dataset", mark: str, positions: "Positions") -> list[list[str]] | None:
    """The columns that `ABSENT` or `UNCHANGED` lists for each sample; None if no part has such lists."""
    if mark not in dataset.column_names:
        return None
    stored = [sample.get(mark) for sample in dataset.take(positions, [mark])]
    return [[] if names is None else json.loads(names) for names in stored]


def without_private(dataset: "jinx.Dataset") -> "jinx.Dataset":
    """A dataset of parts, without the columns that operators and outputs must not see."""
    hidden = [name for name in PRIVATE if name in dataset.column_names]
    return dataset.drop_columns(hidden) if hidden else dataset


def in_order(names: Iterable[str]) -> list[str]:
    """The names of columns that operators have changed or added: sorted, each once, the statistics last.

    The order of columns must not depend on which sample had a column first.
    """
    return sorted(set(names), key=lambda name: (name == STATS, name))


class ListSource:
    """A list of dicts."""

    def __init__(self, origin: Sequence[Mapping[str, Any]]) -> None:
        for position, sample in enumerate(origin):
            if not isinstance(sample, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"sample {position} is a {type(sample).__name__}, not a dict")
        self.origin = origin

    def __len__(self) -> int:
        return len(self.origin)

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for sample in self.origin for name in sample))

    def is_input(self, name: str) -> bool:
        return name in self.names()

    def samples(self, positions: "Positions") -> list[MutableMapping[str, Any]]:
        return [dict(self.origin[position]) for position in positions.tolist()]

    def values(self, positions: "Positions", name: str) -> list[Any]:
        return [self.origin[position].get(name) for position in positions.tolist()]

    def media_values(self, positions: "Positions", name: str, *, exact: bool = False) -> list[Any]:
        del exact
        return self.values(positions, name)

    def strings(self, positions: "Positions", path: str) -> list[str | None] | None:
        del positions, path
        return None

    def numbers(self, positions: "Positions", path: str) -> "npt.NDArray[Any] | None":
        del positions, path
        return None

    def copied(self, positions: "Positions") -> Source:
        samples = list(self.origin)
        for position in positions.tolist():
            samples[position] = own_copy(dict(samples[position]))
        return type(self)(samples)


class MadeSamples(ListSource):
    """Samples that operators have made."""

    def is_input(self, name: str) -> bool:
        return False


class DatasetSource:
    """A jinx dataset, which is read on access."""

    def __init__(self, origin: "jinx.Dataset") -> None:
        self.origin = origin
        self._columns: dict[str, npt.NDArray[Any] | None] = {}

    def __len__(self) -> int:
        return len(self.origin)

    @cached_property
    def _shown(self) -> "jinx.Dataset":
        return without_private(self.origin)

    @cached_property
    def _ranges(self) -> StoredRanges:
        return StoredRanges(self.origin)

    def names(self) -> list[str]:
        return self._shown.column_names

    def is_input(self, name: str) -> bool:
        return name in self.names()

    def samples(self, positions: "Positions") -> list[MutableMapping[str, Any]]:
        samples: list[MutableMapping[str, Any]] = list(self._shown.select(positions))
        for sample, names in zip(samples, absent_columns(self.origin, positions) or (), strict=False):
            for name in names:
                sample.pop(name, None)
        return samples

    def values(self, positions: "Positions", name: str) -> list[Any]:
        return [sample.get(name) for sample in self.origin.take(positions, [name])]

    def media_values(self, positions: "Positions", name: str, *, exact: bool = False) -> list[Any]:
        values = list(self._ranges.column(positions.tolist(), name, exact=exact))
        others = [row for row, value in enumerate(values) if value is None]
        for row, value in zip(others, self.values(positions[others], name) if others else (), strict=True):
            values[row] = value
        return values

    def strings(self, positions: "Positions", path: str) -> list[str | None] | None:
        values = self.origin.select(positions).column(path)
        return values if isinstance(values, list) else None

    def numbers(self, positions: "Positions", path: str) -> "npt.NDArray[Any] | None":
        if path not in self._columns:
            self._columns[path] = self._indexed(path)
        values = self._columns[path]
        return None if values is None else values[positions]

    def copied(self, positions: "Positions") -> Source:
        del positions
        return self

    def _indexed(self, path: str) -> "npt.NDArray[Any] | None":
        """The numbers of all samples, from the index, which is always read as a whole."""
        import numpy as np

        if len(self.origin) > _MAX_NUMBERS or path not in {column.path for column in self.origin.info().indexed}:
            return None
        values = self.origin.column(path)
        return values if isinstance(values, np.ndarray) and values.dtype.kind in "iuf" else None
