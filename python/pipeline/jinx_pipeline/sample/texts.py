"""The texts at a path of a sample: strings, lists of strings, and the text parts of lists of content parts."""

from collections.abc import Iterator
from typing import Any

from jinx_pipeline.sample.paths import Steps, find, replaced


def texts_at(value: Any, steps: Steps) -> list[str]:
    """The texts at a path, in order.

    Raises:
        TypeError: A value at the path is not a text.
    """
    return [text for content in find(value, steps) for text in _texts(content)]


def with_texts(value: Any, steps: Steps, texts: Iterator[str]) -> Any:
    """A copy of `value` with its texts replaced by those in `texts`, in the order of `texts_at`."""
    changed = [_with_texts(content, texts) for content in find(value, steps)]
    return replaced(value, steps, iter(changed))


def is_text_part(part: Any) -> bool:
    """Whether an element of a list of content parts is a text: `{"type": "text", "text": "..."}`."""
    return isinstance(part, dict) and isinstance(part.get("text"), str) and part.get("type", "text") == "text"  # pyright: ignore[reportUnknownMemberType]


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, list | tuple):
        return [text for part in value for text in _of_part(part)]  # pyright: ignore[reportUnknownVariableType]
    raise TypeError(f"a text is a string or a list of content parts, not {type(value).__name__}")


def _of_part(part: Any) -> list[str]:
    if isinstance(part, str):
        return [part]
    return [part["text"]] if is_text_part(part) else []


def _with_texts(value: Any, texts: Iterator[str]) -> Any:
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, list | tuple):
        return [_part_with_text(part, texts) for part in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _part_with_text(part: Any, texts: Iterator[str]) -> Any:
    if isinstance(part, str):
        return next(texts)
    return {**part, "text": next(texts)} if is_text_part(part) else part
