"""Columns of tables: their types, and the values of samples as a database stores them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

TYPES: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "bytes": (bytes,),
    "json": (object,),
}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The limit of integers in both databases.
_MAX_INT: Final = 2**63
# PostgreSQL cuts a longer name off, so that two tables would be one.
_NAME_CHARACTERS: Final = 63


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: Its name.
        kind: Its type, one of `TYPES`.
        path: The column or path of the samples.
    """

    name: str
    kind: str
    path: str

    def stored(self, value: Any) -> Any:
        """A value in the form that a database stores; a list of one element counts as this element, except for JSON.

        Raises:
            TypeError: It does not have the type of the column.
            ValueError: The database cannot store it.
        """
        if self.kind == "json":
            return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
        return self._stored_scalar(only_element(value))

    def _stored_scalar(self, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, TYPES[self.kind]) or (isinstance(value, bool) and self.kind != "bool"):
            raise TypeError(f"{self.path} is {type(value).__name__}, and the column {self.name} is {self.kind}")
        if self.kind == "int" and not -_MAX_INT <= value < _MAX_INT:
            raise ValueError(f"{self.path} is {value}, which is no 64-bit integer")
        if isinstance(value, str) and "\0" in value:
            raise ValueError(f"{self.path} holds a NUL character, which PostgreSQL does not store")
        return self._float(value) if self.kind == "float" else value

    def loaded(self, value: Any) -> Any:
        """A value from a database in the form that samples have.

        Raises:
            TypeError: It does not have the type of the column.
            ValueError: It is no JSON, or an integer that no float holds.
        """
        if value is None:
            return None
        if self.kind == "json":
            return self._decoded(value) if isinstance(value, str | bytes) else value
        if self.kind == "bool" and isinstance(value, int) and value in {0, 1}:
            return bool(value)
        if self.kind == "bytes" and isinstance(value, bytearray | memoryview):
            return bytes(value)
        if self.kind == "float" and not isinstance(value, str | bytes | bool):
            return self._float(value)
        if not isinstance(value, TYPES[self.kind]) or isinstance(value, bool):
            raise TypeError(f"the column {self.name} has {value!r}, which is not {self.kind}")
        return value

    def _decoded(self, value: str | bytes) -> Any:
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the column {self.name} has {value!r:.100}, which is not JSON: {error}") from None

    def _float(self, value: Any) -> float:
        if isinstance(value, int) and int(number := float(value)) != value:
            raise ValueError(f"the column {self.name} has {value}, and the nearest float is {number:.0f}; declare int")
        return float(value)


def columns_of(declared: Mapping[str, str]) -> list[Column]:
    """The columns of a table.

    Args:
        declared: For each column of the table its type, or the type, a colon and the path in the samples.

    Raises:
        ValueError: A name or a type is invalid.
    """
    columns: list[Column] = []
    for name, declaration in declared.items():
        kind, _, path = declaration.partition(":")
        refuse_name(name)
        if kind not in TYPES:
            raise ValueError(f"the column {name} is {kind!r}; a type is one of {', '.join(TYPES)}")
        columns.append(Column(name, kind, path or name))
    return columns


def refuse_name(name: str) -> None:
    """Refuse a name that is not a plain identifier, or too long for PostgreSQL.

    Raises:
        ValueError: It is none.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name for a table or column; use letters, digits and _")
    if len(name) > _NAME_CHARACTERS:
        raise ValueError(f"{name!r} has more than the {_NAME_CHARACTERS} characters of a name in PostgreSQL")


def only_element(value: Any) -> Any:
    """The element of a list that has one; any other value as it is."""
    if isinstance(value, list | tuple):
        elements: Sequence[Any] = value
        return elements[0] if len(elements) == 1 else value
    return value
