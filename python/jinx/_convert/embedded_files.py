"""The options for `embed`: finds the paths in columns, and whether the files are images, audio or video."""

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


def embed_options(columns: Sequence[str], root: str | None, missing: str, inputs: Inputs) -> dict[str, Any]:
    """The options that the core needs to embed files.

    Args:
        columns: Columns or dotted paths; a path goes through every element of a list.
        root: The directory that paths are relative to; None: the directory of the first input.
        missing: `"fail"`, `"skip"` or `"null"`.
        inputs: The inputs; their first rows show whether the files are images, audio or video.

    Raises:
        KeyError: None of the first rows has such a column.
        FileNotFoundError: There is no directory `root`.
    """
    first = inputs.files[0]
    directory = root if root is not None else os.path.dirname(first) or "."  # noqa: PTH120 - str in, str out
    if not os.path.isdir(directory):  # noqa: PTH112
        raise FileNotFoundError(f"{directory}: no such directory to read the files from (--root)")
    options = {"paths": list(columns), "root": os.path.abspath(directory), "missing": missing}  # noqa: PTH100
    if first == "-" or not os.path.isfile(first):  # noqa: PTH113
        return {**options, "media": [[column.split("."), "Image"] for column in columns]}
    rows = list(islice(_core.stream(inputs.files[:1], input_format=inputs.format), _LOOKED_AT))
    return {**options, "media": [place for column in columns if (place := _place(rows, column)) is not None]}


def _place(rows: Sequence[Mapping[str, Any]], column: str) -> list[Any] | None:
    """The position of the paths in a column (None stands for list elements), and the media type of the first file."""
    names = dict.fromkeys(name for row in rows for name in row)
    if rows and column not in names and column.partition(".")[0] not in names:
        raise KeyError(unknown_column(column, names))
    steps = [column] if column in names else column.split(".")
    for row in rows:
        located = _first(row, steps, [])
        if located is not None:
            place, path = located
            kind = (mimetypes.guess_type(path)[0] or "image/").partition("/")[0]
            return [place, _KINDS.get(kind, "Image")]
    return None


def _first(value: Any, steps: Sequence[str], place: Place) -> tuple[Place, str] | None:
    """The first path along `steps`, and its position."""
    if isinstance(value, list):
        elements: list[Any] = [*value]
        candidates = (_first(element, steps, [*place, None]) for element in elements)
        return next((candidate for candidate in candidates if candidate is not None), None)
    if not steps:
        return (place, value) if isinstance(value, str) else None
    if isinstance(value, Mapping) and steps[0] in value:
        members: dict[str, Any] = {**value}
        return _first(members[steps[0]], steps[1:], [*place, steps[0]])
    return None
