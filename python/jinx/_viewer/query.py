"""A request from the page: filter, word, brushes and order, as its URL encodes them; and the same as Python."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jinx._dataset.sort_order import parse_key
from jinx.errors import InvalidError

# A brush over numbers is a half-open range; None is no limit. A brush over strings is a tuple of them; None is no
# value.
NumberBrush = tuple[float | None, float | None]
NameBrush = tuple[str | bool | None, ...]
_MAX_TEXT = 20_000
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_RESERVED = {"and", "or", "not", "in", "is", "True", "False", "None", "true", "false", "null", "none", "NULL", "AND"}
_NUMBER_LIMITS = 2


@dataclass(frozen=True)
class Brush:
    """The selection in the chart of one column.

    Attributes:
        column: The column as an expression names it: `score`, `meta.width` or `len(messages)`.
        range: The chosen numbers.
        names: The chosen strings.
    """

    column: str
    range: NumberBrush | None = None
    names: NameBrush | None = None

    @property
    def expression(self) -> str:
        """The condition that selects the same samples."""
        if self.range is not None:
            least, limit = self.range
            parts = [f"{self.column} >= {_number(least)}"] if least is not None else []
            parts += [f"{self.column} < {_number(limit)}"] if limit is not None else []
            return " and ".join(parts) or f"{self.column} is not None"
        parts: list[str] = []
        strings = [name for name in self.names or () if isinstance(name, str)]
        if strings:
            listed = ", ".join(map(quoted_string, strings))
            parts.append(f"{self.column} == {listed}" if len(strings) == 1 else f"{self.column} in ({listed})")
        parts += [f"{self.column} == {name}" for name in self.names or () if isinstance(name, bool)]
        parts += [f"{self.column} is None"] if None in (self.names or ()) else []
        return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"


@dataclass(frozen=True)
class Query:
    """Which samples the page shows, and in which order.

    Attributes:
        where: An expression as for `Dataset.filter`; may be empty.
        find: A word that a string of the sample has; may be empty.
        brushes: The choices in charts.
        sort: A key as for `Dataset.sort`; may be empty.
    """

    where: str = ""
    find: str = ""
    brushes: tuple[Brush, ...] = ()
    sort: str = ""

    @classmethod
    def parse(cls, parameters: Mapping[str, str]) -> "Query":
        """The query in the parameters of a URL.

        Raises:
            InvalidError: A parameter has another form.
        """
        texts = {name: parameters.get(name, "").strip() for name in ("where", "find", "sort")}
        for name, text in texts.items():
            if len(text) > _MAX_TEXT:
                raise InvalidError(f"{name}: {len(text):,} characters are too many")
        return cls(**texts, brushes=_brushes(parameters.get("brush", "")))

    def python(self, path: str | None) -> str:
        """Python code that selects the same samples.

        Args:
            path: The dataset; None: the variable `ds` holds it.
        """
        conditions = [f"({self.where})"] if self.where and self.brushes else [self.where] if self.where else []
        conditions += [brush.expression for brush in self.brushes]
        lines = [] if path is None else ["import jinx", "", f"ds = jinx.open({path!r})"]
        if conditions:
            lines.append(f"ds = ds.filter({' and '.join(conditions)!r})")
        if self.find:
            lines.append(f"ds = ds.search({self.find!r})")
        if self.sort:
            lines.append(f"ds = ds.sort({self.sort!r})")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class SortKey:
    """A parsed key of `Dataset.sort`."""

    name: str
    by_length: bool
    descending: bool

    @classmethod
    def parse(cls, key: str, columns: list[str]) -> "SortKey":
        """The parts of a key such as `-len(messages)`."""
        return cls(*parse_key(key, columns))


def expression_name(path: list[str]) -> str:
    """A path in the form used by expressions and `Dataset.column`."""
    return ".".join(
        part if _PLAIN_NAME.fullmatch(part) and part not in _RESERVED else '"' + part.replace('"', '""') + '"'
        for part in path
    )


def quoted_string(text: str) -> str:
    """A string in the form used by expressions."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)


def _brushes(text: str) -> tuple[Brush, ...]:
    if not text:
        return ()
    try:
        chosen: dict[str, Any] = json.loads(text[:_MAX_TEXT])
        return tuple(_brush(column, entry) for column, entry in chosen.items())
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError) as error:
        raise InvalidError(f"brush: this is not what the page writes: {error}") from None


def _brush(column: str, entry: Any) -> Brush:
    if "range" in entry:
        limits = tuple(None if limit is None else float(limit) for limit in entry["range"])
        if len(limits) != _NUMBER_LIMITS or any(limit is not None and limit - limit != 0 for limit in limits):
            raise ValueError("a range has two numbers")
        return Brush(column, range=limits)
    names = tuple(entry["names"])
    if not names or not all(name is None or isinstance(name, str | bool) for name in names):
        raise ValueError("names are strings, and at least one")
    return Brush(column, names=names)
