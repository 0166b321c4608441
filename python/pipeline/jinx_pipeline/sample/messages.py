"""Dialogs as messages: a list of `role` and `content`, the intermediate form of all conversions."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.sample.dialog_errors import DialogError

ROLES = ("system", "user", "assistant", "tool")
MEDIA = {"image": "images", "audio": "audios", "video": "videos"}
"""Types of content parts, with the column that holds their media in order."""


def checked(sample: dict[str, Any]) -> dict[str, Any]:
    """The sample, if its `messages` are valid.

    Raises:
        DialogError: The messages are not valid.
    """
    messages = sample.get("messages")
    if not isinstance(messages, list | tuple) or not messages:
        raise DialogError("messages is a list of at least one message")
    for number, message in enumerate(messages):  # pyright: ignore[reportUnknownVariableType]
        where = f"messages[{number}]"
        if not isinstance(message, Mapping):
            raise DialogError(f"{where} is a {type(message).__name__}, not a dict with role and content")
        if message.get("role") not in ROLES:
            raise DialogError(f"{where}.role is {message.get('role')!r}; it is one of {', '.join(ROLES)}")
        content = message.get("content")
        if not isinstance(content, str | list | tuple) and not (content is None and message.get("tool_calls")):
            raise DialogError(f"{where}.content is a {type(content).__name__}, not a string or a list of parts")
    return sample


def as_text(sample: dict[str, Any]) -> dict[str, Any]:
    """The sample with strings as contents: a media part becomes a token such as `<image>`.

    The medium of a part is appended to `images`, `audios` or `videos`.
    """
    checked(sample)
    if not any(isinstance(message["content"], list | tuple) for message in sample["messages"]):
        return sample
    media: dict[str, list[Any]] = {column: list(sample.get(column) or []) for column in MEDIA.values()}
    messages = [{**message, "content": _text_of(message["content"], media)} for message in sample["messages"]]
    return {**sample, "messages": messages, **{column: values for column, values in media.items() if values}}


def _text_of(content: Any, media: dict[str, list[Any]]) -> str:
    if not isinstance(content, list | tuple):
        return content or ""
    pieces: list[str] = []
    for part in content:  # pyright: ignore[reportUnknownVariableType]
        kind = part if isinstance(part, str) else part.get("type")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(part, str):
            pieces.append(part)
        elif kind == "text":
            pieces.append(part["text"])
        elif kind in MEDIA:
            pieces.append(f"<{kind}>")
            if part.get(kind) is not None:  # pyright: ignore[reportUnknownMemberType]
                media[MEDIA[kind]].append(part[kind])
        else:
            raise DialogError(f"a content part of type {kind!r}; there are text, {', '.join(MEDIA)}")
    return "".join(pieces)


def without(sample: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The sample without some columns."""
    return {name: value for name, value in sample.items() if name not in names}


def with_columns(passed: Mapping[str, Any], **columns: Any) -> dict[str, Any]:
    """The columns that pass through a conversion, with the columns of a layout added.

    Raises:
        DialogError: A column that passes through has the name of a column of the layout.
    """
    refuse_columns(passed, *columns)
    return {**passed, **columns}


def refuse_columns(passed: Mapping[str, Any], *names: str) -> None:
    """Refuse columns that pass through but have names of a layout: they would be lost, or become part of the dialog.

    Raises:
        DialogError: There is such a column.
    """
    for name in names:
        if name in passed:
            raise DialogError(f"the column {name!r} is not part of the dialog, and the new layout has one; rename it")
