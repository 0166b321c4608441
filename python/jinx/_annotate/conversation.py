"""Conversations and images in a sample, in the forms that datasets have them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from jinx._suggest import unknown_column

Message = dict[str, Any]

_TEXT_COLUMNS = ("messages", "conversations", "texts", "text")
_IMAGE_COLUMNS = ("images", "image")
# Of conversations with "from" and "value".
_ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant"}
# What stands for an image in text of other datasets.
_PLACEHOLDER = "<image>"


def find_columns(names: Sequence[str], text: str | None, images: str | None) -> tuple[str, str | None]:
    """The columns of text and of images: as given, or by their usual names.

    Raises:
        KeyError: A column does not exist, or no column has a usual name.
    """
    for given in (text, images):
        if given is not None and given not in names:
            raise KeyError(unknown_column(given, names))
    found = text or next((name for name in _TEXT_COLUMNS if name in names), None)
    if found is None:
        usual = ", ".join(_TEXT_COLUMNS)
        raise KeyError(f"no column is called {usual}; name the one with the conversation or text (text_column=)")
    return found, images or next((name for name in _IMAGE_COLUMNS if name in names), None)


def conversation_of(value: Any) -> list[Message] | str:
    """The messages of a conversation as dicts of `role` and `content`; a plain text stays one.

    Takes dicts with `role` and `content`, with `from` and `value`, and pairs of `user` and `assistant`.

    Raises:
        ValueError: It is none of these.
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
        known = cast("Mapping[str, Any]", entry)
        if "role" in known and "content" in known:
            extra = {name: one for name, one in known.items() if one is not None}
            messages.append({**extra, "content": _content(known["content"])})
        elif "from" in known and "value" in known:
            messages.append({"role": _ROLES.get(known["from"], known["from"]), "content": known["value"] or ""})
        elif "user" in known and "assistant" in known:
            messages.append({"role": "user", "content": known["user"] or ""})
            messages.append({"role": "assistant", "content": known["assistant"] or ""})
        else:
            raise ValueError(
                f"a message with {', '.join(map(str, known))}; it needs role and content, or from and value"
            )
    return messages


def _content(value: Any) -> Any:
    """A string, or a list of parts without the members that Arrow filled with nulls."""
    if not isinstance(value, list):
        return "" if value is None else value
    parts: list[Any] = [*value]
    return [{name: one for name, one in part.items() if one is not None} for part in parts]


def images_of(value: Any) -> list[Any]:
    """The images of a sample as bytes or arrays, in order; none for None.

    Raises:
        ValueError: An image is a path without bytes, or something else.
    """
    if value is None:
        return []
    if isinstance(value, list):
        values: list[Any] = [*value]
        return [image for one in values for image in images_of(one)]
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
    """The messages with one placeholder for each image, in the form that a template takes.

    Images that nothing in the text stands for come first in the first message of the user.

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
