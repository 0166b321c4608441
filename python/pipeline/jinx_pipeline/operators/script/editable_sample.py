"""A sample that a user's function can read and change, and that reports the changes."""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from jinx_pipeline.operators.api.column_values import own_copy
from jinx_pipeline.operators.api.same_value import is_same_value


class EditableSample(MutableMapping[str, Any]):
    """A sample whose columns are read on access, and which remembers their stored values.

    Args:
        sample: The sample as it is stored; it is not changed.
        names: An order of columns that holds for all samples; other columns of the sample come last.
    """

    def __init__(self, sample: Mapping[str, Any], names: Iterable[str] = ()) -> None:
        self._stored = sample
        self._before: dict[str, Any] = {}
        self._current: dict[str, Any] = {}
        self._names = dict.fromkeys([*(name for name in names if name in sample), *sample])

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._current:
            value = self._stored[name]
            self._before[name] = value
            self._current[name] = own_copy(value)
        return self._current[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._names[name] = None
        self._current[name] = value

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        self._current.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __repr__(self) -> str:
        return f"EditableSample({', '.join(self._names)})"

    def copy(self) -> dict[str, Any]:
        """All columns as a plain dict."""
        return dict(self)

    to_dict = copy

    def changes(self, result: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The differences between the stored sample and the result of a function: new values, and removed names.

        Args:
            result: This object, or any other mapping.
        """
        changed: dict[str, Any] = {}
        for name in result:
            if result is self and name not in self._current:
                continue
            value = result[name]
            if name not in self._stored or not self._is_unchanged(name, value):
                changed[name] = value
        return changed, [name for name in self._stored if name not in result]

    def _is_unchanged(self, name: str, value: Any) -> bool:
        if name not in self._before:  # set, but never read
            return False
        return is_same_value(value, self._before[name])
