"""Replaces media in samples, at all places where `MediaList` finds them."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jinx_pipeline.sample.media import PARTS
from jinx_pipeline.sample.paths import Steps, find, replaced
from jinx_pipeline.sample.roles import Role

if TYPE_CHECKING:
    from jinx._dataset.stored_ranges import StoredRange


def with_media(value: Any, steps: Steps, role: Role, changes: "Iterator[bytes | str | StoredRange | None]") -> Any:
    """A copy of `value` with its media replaced by those in `changes`, in the order of `MediaList`.

    Args:
        value: The value of a column.
        steps: The path of the media in it.
        role: The kind of media.
        changes: For each medium its new bytes or path; None keeps it.
    """
    return replaced(value, steps, iter([_with_media(medium, role, changes) for medium in find(value, steps)]))


def _with_media(value: Any, role: Role, changes: "Iterator[bytes | str | StoredRange | None]") -> Any:
    if value is None or value == "":
        return value
    if isinstance(value, list | tuple):
        return [_with_media(element, role, changes) for element in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Mapping) and "type" in value:
        name = next((name for name in PARTS[role] if value.get(name) is not None), None)  # pyright: ignore[reportUnknownMemberType]
        return value if name is None else {**value, name: _with_media(value[name], role, changes)}  # pyright: ignore[reportUnknownVariableType]
    change = next(changes)
    if change is None:
        return value
    if not isinstance(value, Mapping):
        return change
    names = {"bytes", "path", "url", "data"}
    kept = {name: item for name, item in value.items() if name not in names}  # pyright: ignore[reportUnknownVariableType]
    is_path = isinstance(change, str)
    return {**kept, "bytes": None if is_path else change, "path": change if is_path else None}
