"""Values with media on disk (`StoredRange`): operators see bytes, and writers copy them in blocks."""

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, cast

from jinx._dataset.stored_ranges import StoredRange
from jinx_pipeline.sample.sidecar_media import opened_range


def has_range(value: Any) -> bool:
    """Whether a value contains a `StoredRange`."""
    if isinstance(value, StoredRange):
        return True
    if isinstance(value, list | tuple):
        return any(map(has_range, cast("list[Any]", value)))
    return isinstance(value, dict) and any(map(has_range, cast("dict[str, Any]", value).values()))


def with_bytes(value: Any) -> Any:
    """The value with each `StoredRange` replaced by its bytes; the same object if there is none."""
    return with_ranges_as(value, _read)


def with_ranges_as(value: Any, made: Callable[[StoredRange], Any]) -> Any:
    """The value with each `StoredRange` replaced by the result of `made`; the same object if there is none."""
    return _replaced(value, made) if has_range(value) else value


def _replaced(value: Any, made: Callable[[StoredRange], Any]) -> Any:
    if isinstance(value, StoredRange):
        return made(value)
    if isinstance(value, list | tuple):
        return [_replaced(element, made) for element in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _replaced(member, made) for name, member in cast("dict[str, Any]", value).items()}
    return value


def _read(medium: StoredRange) -> bytes:
    with opened_range(medium) as file:
        return file.readall()


class ReadOnAccess(MutableMapping[str, Any]):
    """A sample whose media on disk are read again on each access.

    Args:
        sample: The columns, with anything in place of those of `ranged`.
        ranged: The columns with a `StoredRange`.
    """

    def __init__(self, sample: MutableMapping[str, Any], ranged: dict[str, Any]) -> None:
        self._sample, self._ranged = sample, ranged

    def __getitem__(self, name: str) -> Any:
        return with_bytes(self._ranged[name]) if name in self._ranged else self._sample[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._ranged.pop(name, None)
        self._sample[name] = value

    def __delitem__(self, name: str) -> None:
        self._ranged.pop(name, None)
        del self._sample[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sample)

    def __len__(self) -> int:
        return len(self._sample)

    def __contains__(self, name: object) -> bool:
        return name in self._sample
