"""What a dataset contains, for a language model: columns and the kinds of their values, but no text of samples."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import jinx

_LOOKED_AT: Final = 50
_MAX_COLUMNS: Final = 100
_TEXT_COLUMNS: Final = ("text", "content", "caption", "conversations", "dialog")
_MEDIA: Final[Mapping[str, tuple[str, ...]]] = {
    "images": ("images", "image", "img", "jpg", "png"),
    "audios": ("audios", "audio", "wav", "flac"),
    "videos": ("videos", "video", "mp4"),
}


@dataclass(frozen=True)
class Profile:
    """The contents of a dataset, without texts of samples.

    Attributes:
        samples: The number of samples.
        columns: The kinds of values of each column, such as `str` or `list of dict`.
        roles: The columns or paths of texts and media, as a recipe names them.
    """

    samples: int
    columns: dict[str, str]
    roles: dict[str, str]

    def lines(self) -> list[str]:
        """The profile in words."""
        columns = [f"- {name}: {kind}" for name, kind in self.columns.items()]
        roles = [f"{role} at {path}" for role, path in self.roles.items()] or ["none"]
        return [f"{self.samples:,} samples", "columns:", *columns, f"texts and media: {', '.join(roles)}"]


def profile_of(path: str) -> Profile:
    """Look at the first samples of a dataset.

    Raises:
        JinxError: The dataset cannot be read.
        OSError: It does not exist.
    """
    dataset = jinx.open(path)
    kinds: dict[str, set[str]] = {}
    parts: dict[str, set[str]] = {}
    for sample in islice(dataset, _LOOKED_AT):
        for name in list(sample)[:_MAX_COLUMNS]:
            value = sample[name]
            kinds.setdefault(name, set()).add(_kind(value))
            if isinstance(value, list) and value and isinstance(value[0], Mapping):
                parts.setdefault(name, set()).update(map(str, value[0]))
    columns = {name: " or ".join(sorted(found - {"None"} or found)) for name, found in kinds.items()}
    return Profile(len(dataset), columns, _roles(columns, parts))


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return f"list of {_kind(value[0])}" if value else "list"
    if isinstance(value, Mapping):
        return "dict"
    return "None" if value is None else type(value).__name__


def _roles(columns: Mapping[str, str], parts: Mapping[str, set[str]]) -> dict[str, str]:
    roles: dict[str, str] = {}
    dialogs = [f"{name}[*].{key}" for name, keys in parts.items() for key in ("content", "value") if key in keys]
    texts = [name for name in _TEXT_COLUMNS if columns.get(name) == "str"]
    strings = [name for name, kind in columns.items() if kind == "str"]
    found = (texts or dialogs or strings)[:1]
    if found:
        roles["text"] = found[0]
    for role, names in _MEDIA.items():
        present = [name for name in names if name in columns]
        if present:
            roles[role] = present[0]
    return roles
