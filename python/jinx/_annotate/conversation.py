"""Finds the conversation and the images of a sample, in the usual forms of datasets."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from jinx._suggest import unknown_column

Message = dict[str, Any]

_TEXT_COLUMNS = ("messages", "conversations", "texts", "text")
_IMAGE_COLUMNS = ("images", "image")
# Role names in conversations with "from" and "value".
_ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant"}
# Image placeholders of other datasets.
_PLACEHOLDER = "<image>"


def find_columns(names: Sequence[str], text: str | None, images: str | None) -> tuple[str, str | None]:
    """The columns of text and images: the given ones, or columns with common names.

    Raises:
        KeyError: A column does not exist, or no column has a common name.
    """
    for given in (text, images):
        if given is not None and given not in names:
            raise KeyError(unknown_column(given, names))
    text_column = text or next((name for name in _TEXT_COLUMNS if name in names), None)
    if text_column is None:
        usual = ", ".join(_TEXT_COLUMNS)
        raise KeyError(f"no column is called {usual}; name the one with the conversation or text (text_column=)")
    return text_column, images or next((name for name in _IMAGE_COLUMNS if name in names), None)


def conversation_of(value: Any) -> list[Message] | str:
    """The messages of a conversation as dicts of `role` and `content`; plain text stays a string.

    Takes dicts with `role` and `content`, with `from` and `value`, and pairs of `user` and `assistant`.

    Raises:
        ValueError: The conversation has another form.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ValueError(f"a conversation is a list of messages, not {type(value).__name__}")  # noqa: TRY004
    entries: list[Any] = [*value]
    messages: list[Message] = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise ValueError(f"a message is a dict, not {type(entry).__name__}")  # noqa: TRY004
        message = cast("Mapping[str, Any]", entry)
        if "role" in message and "content" in message:
            extra = {name: member for name, member in message.items() if member is not None}
            messages.append({**extra, "content": _content(message["content"])})
        elif "from" in message and "value" in message:
            messages.append({"role": _ROLES.get(message["from"], message["from"]), "content": message["value"] or ""})
        elif "user" in message and "assistant" in message:
            messages.append({"role": "user", "content": message["user"] or ""})
            messages.append({"role": "assistant", "content": message["assistant"] or ""})
        else:
            raise ValueError(
                f"a message with {', '.join(map(str, message))}; it needs role and content, or from and value"
            )
    return messages


def _content(value: Any) -> Any:
    """A string, or a list of parts without the entries that Arrow filled with nulls."""
    if not isinstance(value, list):
        return "" if value is None else value
    parts: list[Any] = [*value]
    return [{name: member for name, member in part.items() if member is not None} for part in parts]


def images_of(value: Any) -> list[Any]:
    """The images of a sample as bytes or arrays, in order; an empty list for None.

    Raises:
        ValueError: An image is a path without bytes, or has another type.
    """
    if value is None:
        return []
    if isinstance(value, list):
        values: list[Any] = [*value]
        return [image for element in values for image in images_of(element)]
    if isinstance(value, bytes) or hasattr(value, "shape"):
        return [value]
    if isinstance(value, Mapping):
        entry = cast("Mapping[str, Any]", value)
        if isinstance(entry.get("bytes"), bytes):
            return [entry["bytes"]]
        if entry.get("path"):
            raise ValueError(
                f"the image {entry['path']} is a path without bytes: jinx convert --embed reads such files"
            )
        return []
    raise ValueError(f"an image is bytes or an array, not {type(value).__name__}")


def with_placeholders(messages: list[Message], images: int, token: str, *, parts: bool) -> list[Message]:
    """The messages with one placeholder for each image, in the form that the template expects.

    Images without a placeholder come first in the first message of the user.

    Args:
        messages: From `conversation_of`.
        images: How many images the sample has.
        token: The text of the image token.
        parts: Whether the template takes content as a list of parts; otherwise content becomes a string.
    """
    if images and not sum(_placeholders(message["content"], token) for message in messages):
        first = next((message for message in messages if message["role"] == "user"), messages[0])
        content = first["content"]
        as_parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
        if parts:
            first["content"] = [*({"type": "image"} for _ in range(images)), *as_parts]
        else:
            first["content"] = token * images + _flat(content, token)
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            message["content"] = content.replace(_PLACEHOLDER, token) if images else content
        elif not parts:
            message["content"] = _flat(content, token)
    return messages


def _placeholders(content: Any, token: str) -> int:
    if isinstance(content, str):
        return content.count(token) + (0 if token == _PLACEHOLDER else content.count(_PLACEHOLDER))
    return sum(_placeholders(part.get("text", ""), token) + _is_image(part) for part in content)


def _is_image(part: Mapping[str, Any]) -> bool:
    return part.get("type") in {"image", "image_url"}


def _flat(content: Any, token: str) -> str:
    if isinstance(content, str):
        return content
    return "".join(token if _is_image(part) else part.get("text", "") for part in content)
