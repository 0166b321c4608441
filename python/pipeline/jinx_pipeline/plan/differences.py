"""Readable differences between a stored plan and the current one."""

import json
from typing import Any


def differences(old: Any, new: Any, path: str = "") -> list[str]:
    """The differences between two descriptions, in the form `path: old -> new`."""
    if isinstance(old, dict) and isinstance(new, dict):
        names: list[Any] = list(dict.fromkeys([*old, *new]))  # pyright: ignore[reportUnknownArgumentType]
        changes = [
            change
            for name in names
            if name != "digest"
            for change in differences(old.get(name), new.get(name), f"{path}.{name}" if path else str(name))  # pyright: ignore[reportUnknownMemberType]
        ]
        return changes or (["the code of an operator, or data that it reads"] if old != new else [])
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):  # pyright: ignore[reportUnknownArgumentType]
        pairs: list[tuple[Any, Any]] = list(zip(old, new, strict=True))  # pyright: ignore[reportUnknownArgumentType]
        return [change for index, (a, b) in enumerate(pairs) for change in differences(a, b, f"{path}[{index}]")]
    if old == new:
        return []
    return [f"{path}: {_short(old)} -> {_short(new)}"]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:80]}..."  # noqa: PLR2004 - fits into a line
