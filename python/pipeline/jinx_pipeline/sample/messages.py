"""Dialogs as messages: a list of `role` and `content`, the intermediate form of all conversions."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from jinx_pipeline.sample.dialog_errors import DialogError

ROLES = ("system", "user", "assistant", "tool")
MEDIA = {"image": "images", "audio": "audios", "video": "videos"}
"""Types of content parts, with the column that holds their media in order."""
_GIVEN: Final = object()


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
        if message.get("tool_calls") and message["role"] != "assistant":
            raise DialogError(f"{where} has tool_calls, and its role is {message['role']!r}; they are of the assistant")
    return sample


def as_text(sample: dict[str, Any]) -> dict[str, Any]:
    """The sample with all contents as strings: a media part becomes a token such as `<image>`.

    The media of parts go into `images`, `audios` or `videos`, in the order of the tokens.

    Raises:
        DialogError: A part has something that a token cannot stand for, or the order of the media is not known.
    """
    checked(sample)
    if not any(isinstance(message["content"], list | tuple) for message in sample["messages"]):
        return sample
    given = {kind: media_list(sample, column) for kind, column in MEDIA.items()}
    found: dict[str, list[Any]] = {kind: [] for kind in MEDIA}
    messages = [{**message, "content": _text_of(message["content"], found)} for message in sample["messages"]]
    media = {MEDIA[kind]: _in_order(kind, given[kind], found[kind]) for kind in MEDIA}
    return {**sample, "messages": messages, **{column: values for column, values in media.items() if values}}


def media_list(sample: Mapping[str, Any], column: str) -> list[Any]:
    """The media in a column, as a list; a single medium becomes a list of one."""
    media = sample.get(column)
    if media is None:
        return []
    return list(media) if isinstance(media, list | tuple) else [media]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _in_order(kind: str, given: list[Any], found: list[Any]) -> list[Any]:
    """The media of a sample, in the order of its tokens.

    Args:
        kind: The type of the parts.
        given: The media in the column.
        found: For each token, the medium in its part; `_GIVEN` if the column has it.
    """
    if all(medium is _GIVEN for medium in found):
        return given
    if sum(medium is _GIVEN for medium in found) != len(given):
        raise DialogError(
            f"{MEDIA[kind]} has {len(given)} media for {sum(medium is _GIVEN for medium in found)} tokens and parts "
            f"without their own, so the order of all is not known; keep them in the parts or in {MEDIA[kind]}"
        )
    rest = iter(given)
    return [next(rest) if medium is _GIVEN else medium for medium in found]


def _text_of(content: Any, found: dict[str, list[Any]]) -> str:
    parts: list[Any] = list(content) if isinstance(content, list | tuple) else [content or ""]  # pyright: ignore[reportUnknownArgumentType]
    return "".join(_part_text(part, found) for part in parts)


def _part_text(part: Any, found: dict[str, list[Any]]) -> str:
    """The text of a part; its media, and those named by tokens in the text, are added to `found`."""
    if isinstance(part, str):
        text = part
    elif not isinstance(part, Mapping):
        raise DialogError(f"a content part is a {type(part).__name__}, not a string or a dict with type")
    else:
        kind: Any = part.get("type")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if kind != "text" and kind not in MEDIA:
            raise DialogError(f"a content part of type {kind!r}; there are text, {', '.join(MEDIA)}")
        unknown = next((key for key, value in part.items() if key not in ("type", kind) and value is not None), None)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if unknown is not None:
            raise DialogError(f"a content part of type {kind!r} has {unknown!r}, which other schemas cannot hold")
        if kind in MEDIA:
            medium: Any = part.get(kind)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            found[kind].append(_GIVEN if medium is None else medium)
            return f"<{kind}>"
        text = part.get("text")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if not isinstance(text, str):
            raise DialogError(f"a content part of type 'text' has a {type(text).__name__} as its text")  # pyright: ignore[reportUnknownArgumentType]
    for kind in MEDIA:
        found[kind] += [_GIVEN] * text.count(f"<{kind}>")
    return text


def without(sample: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The sample without some columns."""
    return {name: value for name, value in sample.items() if name not in names}


def with_columns(passed: Mapping[str, Any], **columns: Any) -> dict[str, Any]:
    """The columns that pass through a conversion, plus the columns of a layout.

    Raises:
        DialogError: A column that passes through has the name of a column of the layout.
    """
    refuse_columns(passed, *columns)
    return {**passed, **columns}


def refuse_columns(passed: Mapping[str, Any], *names: str) -> None:
    """Refuse columns that pass through but have names that the layout uses: they would be lost, or join the dialog.

    Raises:
        DialogError: There is such a column.
    """
    for name in names:
        if name in passed:
            raise DialogError(f"the column {name!r} is not part of the dialog, and the new layout has one; rename it")


def take_system(columns: dict[str, Any], messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Move an initial system message into the column `system`, for layouts that have one; returns the other messages.

    Raises:
        DialogError: The sample has another column of this name, or the message has more than a content.
    """
    refuse_columns(columns, "system")
    first, *others = messages
    if first["role"] != "system":
        return list(messages)
    refuse_keys(first)
    columns["system"] = first["content"]
    return others


def refuse_keys(message: Mapping[str, Any]) -> None:
    """Refuse a message with more than a role and a content, for layouts that have room for only these.

    Raises:
        DialogError: The message has another key with a value, such as `weight`.
    """
    other = next((key for key, value in message.items() if key not in ("role", "content") and value is not None), None)
    if other is not None:
        raise DialogError(f"a message of {message['role']!r} has {other!r}, which the new layout cannot hold")
