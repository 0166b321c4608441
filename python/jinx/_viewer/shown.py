"""A dataset from the command line as the page sees it: columns, rows, samples and values."""

import json
from typing import TYPE_CHECKING, Any

from jinx import _core
from jinx._core import Reader
from jinx._dataset.columns import column_names
from jinx._viewer.charts import MISSING, Charts
from jinx._viewer.media import SENT_AS_STORED, Binary, BytesCache
from jinx._viewer.media_type import HEAD_BYTES
from jinx._viewer.query import Query
from jinx._viewer.rows import CARD, SAMPLE, Path, row_of, value_at
from jinx._viewer.selection import Selections
from jinx.errors import JinxError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


MAX_PAGE = 240
_LOOKED_AT = 8
_RAW_CHARACTERS = 200_000


class ShownDataset:
    """A dataset, with everything that was computed for its page.

    Args:
        dataset: The dataset.
        path: What `jinx.open` takes to open it again.
        is_saved: Whether that gives the same samples; a dataset of a notebook may be a selection.
    """

    def __init__(self, dataset: Reader, path: str, *, is_saved: bool = True) -> None:
        self.path = path
        self.is_saved = is_saved
        self._stored = dataset._derive(decoders=None, lazy=True)
        self._heads = _with_heads(self._stored)
        self.charts = Charts(self._stored)
        self.selections = Selections(self._stored, self.charts)
        self._values = BytesCache()

    def __len__(self) -> int:
        return len(self._stored)

    def about(self) -> dict[str, Any]:
        """What the page needs to know before it asks for samples."""
        names = column_names(self._stored)
        return {
            "path": self.path,
            "name": self.path.rstrip("/").rpartition("/")[2] or self.path,
            "samples": len(self),
            "columns": names,
            "own": self._stored._own_columns(),
            "media": self._has_media(),
            "charts": [{"name": column.name, "kind": column.kind} for column in self.charts.columns.values()],
        }

    def _has_media(self) -> bool:
        """Whether the first samples contain images, sound or video, so that a grid shows more than a table."""
        rows = [json.dumps(self._row(index)) for index in range(min(_LOOKED_AT, len(self)))]
        return any('"$": "bytes", "type": "' in row for row in rows)

    def page(self, query: Query, start: int, count: int) -> dict[str, Any]:
        """Rows of a query, their total number, and whether the search for its word is done."""
        samples, total, is_complete = self.selections.page(query, max(0, start), max(0, min(count, MAX_PAGE)))
        rows = [self._row(sample) for sample in samples]
        return {"rows": rows, "total": total, "complete": is_complete}

    def _row(self, index: int) -> dict[str, Any]:
        try:
            return {"sample": index, "row": row_of(self._heads[index], CARD)}
        except (JinxError, OSError) as error:
            return {"sample": index, "error": str(error)[:500]}

    def sample(self, index: int) -> dict[str, Any]:
        """All of a sample except its binary values.

        Raises:
            IndexError: The sample does not exist.
        """
        sample = self._heads[index]
        return {"sample": index, "row": row_of(sample, SAMPLE), "raw": self._raw(index)}

    def _raw(self, index: int) -> str:
        """The stored line, or what `jinx cat` would print for a sample without one."""
        try:
            text = self._stored[index].raw()
        except (TypeError, AttributeError):
            text = _core.row_json(self._heads, index, index + 1, False)  # noqa: FBT003
        return text[: 4 * _RAW_CHARACTERS].decode(errors="replace").rstrip("\n")[:_RAW_CHARACTERS]

    def texts(self, index: int) -> "Mapping[str, Any]":
        """A sample with only the first bytes of its binary values.

        Raises:
            IndexError: The sample does not exist.
        """
        return self._heads[index]

    def value(self, index: int, path: Path) -> Any:
        """The value at a path of a sample.

        Raises:
            KeyError: There is no such value.
        """
        name = path[0] if path else None
        if not isinstance(name, str) or not 0 <= index < len(self):
            raise KeyError("no such value")
        only = self._stored if self._stored._transforms else self._stored._derive(columns=[name])
        return value_at(only[index].get(name), path[1:])

    def binary(self, index: int, path: Path) -> Binary:
        """The bytes at a path of a sample; the last ones stay in memory, because videos are read in parts.

        Raises:
            KeyError: There are no bytes there.
        """
        kept = self._values.get((index, path))
        if kept is not None:
            return kept
        data = self.value(index, path)
        if not isinstance(data, bytes):
            raise KeyError(f"{'.'.join(map(str, path))} is not bytes")
        # A browser requests large values in parts, and caches small ones itself.
        if len(data) > SENT_AS_STORED:
            self._values.put((index, path), data)
        return data

    def chart_counts(self, query: Query, names: list[str]) -> dict[str, Any]:
        """The charts of columns under a query."""
        is_ready = self.charts.prepare(names)
        coded = {name: found for name in names if (found := self.charts.coded(name)) is not None}
        counts, kept, is_complete = self.selections.counts(query, list(coded))
        charts: list[dict[str, Any]] = []
        for (name, column), counted in zip(coded.items(), counts, strict=True):
            charts.append(
                {
                    "name": name,
                    "edges": column.edges,
                    "names": column.names,
                    "all": column.counts[: column.bars],
                    "kept": counted[: column.bars],
                    "missing": counted[MISSING],
                }
            )
        return {"charts": charts, "kept": kept, "complete": is_complete and is_ready, "waiting": not is_ready}

    def arrow_column(self, query: Query, name: str) -> "Iterator[bytes]":
        """A column of the samples that a query keeps, in their stored order, as the parts of an Arrow stream.

        Raises:
            InvalidError: The column has no chart.
            ImportError: pyarrow is not installed.
        """
        from jinx._viewer.arrow_column import arrow_column

        self.selections.wait(query)
        kept, _ = self.selections.kept(query)
        return arrow_column(self._stored, name, self.charts.columns.get(name), kept)


def path_of(text: str) -> Path:
    """The path in a URL: a JSON list of names and numbers.

    Raises:
        KeyError: It is something else.
    """
    try:
        steps = json.loads(text)
    except ValueError:
        steps = None
    listed: list[Any] = [*steps] if isinstance(steps, list) else [None]
    if not all(type(step) in {str, int} for step in listed):
        raise KeyError(f"{text[:100]} is not a path")
    return tuple(listed)


def _with_heads(dataset: Reader) -> Reader:
    """The samples with only the first bytes of each binary value, which show its type."""
    try:
        return dataset._derive(rows=dataset._reopened(value_head=HEAD_BYTES))
    except (JinxError, TypeError, OSError):  # columns in memory, or files that were replaced
        return dataset
