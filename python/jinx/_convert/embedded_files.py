"""Which fields hold paths of files to read in, and what those files are."""

import mimetypes
import os
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from jinx import _core
from jinx._convert.inputs import Inputs
from jinx._suggest import unknown_column

_LOOKED_AT = 100
_KINDS = {"image": "Image", "audio": "Audio", "video": "Video"}

Place = list[str | None]


def embed_options(fields: Sequence[str], root: str | None, missing: str, inputs: Inputs) -> dict[str, Any]:
    """What the core needs to know to read files in.

    Args:
        fields: Dotted paths; lists on the way are gone through.
        root: Where paths count from; the folder of the first input if None.
        missing: `"fail"`, `"skip"` or `"null"`.
        inputs: Their first rows tell whether the files are images, audio or video.

    Raises:
        KeyError: None of the first rows has such a field.
        FileNotFoundError: There is no folder `root`.
    """
    first = inputs.files[0]
    folder = root if root is not None else os.path.dirname(first) or "."  # noqa: PTH120 - text in, text out
    if not os.path.isdir(folder):  # noqa: PTH112
        raise FileNotFoundError(f"{folder}: there is no such folder to read the files from (--root)")
    options = {"fields": list(fields), "root": os.path.abspath(folder), "missing": missing}  # noqa: PTH100
    if first == "-" or not os.path.isfile(first):  # noqa: PTH113
        return {**options, "media": [[field.split("."), "Image"] for field in fields]}
    rows = list(islice(_core.stream(inputs.files[:1], source_format=inputs.format), _LOOKED_AT))
    return {**options, "media": [place for field in fields if (place := _place(rows, field)) is not None]}


def _place(rows: Sequence[Mapping[str, Any]], field: str) -> list[Any] | None:
    """Where the paths of a field stand, with None for elements of lists, and what the first one is."""
    names = dict.fromkeys(name for row in rows for name in row)
    if rows and field not in names and field.partition(".")[0] not in names:
        raise KeyError(unknown_column(field, names))
    steps = [field] if field in names else field.split(".")
    for row in rows:
        found = _first(row, steps, [])
        if found is not None:
            place, path = found
            kind = (mimetypes.guess_type(path)[0] or "image/").partition("/")[0]
            return [place, _KINDS.get(kind, "Image")]
    return None


def _first(value: Any, steps: Sequence[str], place: Place) -> tuple[Place, str] | None:
    """The first path along `steps`, and its place."""
    if isinstance(value, list):
        elements: list[Any] = [*value]
        found = (_first(element, steps, [*place, None]) for element in elements)
        return next((one for one in found if one is not None), None)
    if not steps:
        return (place, value) if isinstance(value, str) else None
    if isinstance(value, Mapping) and steps[0] in value:
        members: dict[str, Any] = {**value}
        return _first(members[steps[0]], steps[1:], [*place, steps[0]])
    return None
