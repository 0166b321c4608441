r"""Converts dialogs between layouts, via messages.

    convert_dialog({"instruction": "Add.", "input": "1 2", "output": "3"}, "alpaca", "messages")
    # {"messages": [{"role": "user", "content": "Add.\\n1 2"}, {"role": "assistant", "content": "3"}], "input": "1 2"}

Columns that a layout does not know pass through, so converting to another layout and back gives the same sample. A
column with the name of a column of the new layout is an error.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple, get_args

from jinx_pipeline.sample import messages, paired_turns, turns
from jinx_pipeline.sample.dialog_errors import DialogError

Layout = Literal["messages", "llava", "sharegpt", "alpaca", "query_response"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)


class Converter(NamedTuple):
    """Converts a layout to messages and back."""

    to_messages: Callable[[dict[str, Any]], dict[str, Any]]
    from_messages: Callable[[dict[str, Any]], dict[str, Any]]


CONVERTERS: dict[str, Converter] = {
    "messages": Converter(messages.checked, messages.checked),
    "llava": Converter(turns.from_llava, turns.to_llava),
    "sharegpt": Converter(turns.from_sharegpt, turns.to_sharegpt),
    "alpaca": Converter(paired_turns.from_alpaca, paired_turns.to_alpaca),
    "query_response": Converter(paired_turns.from_query_response, paired_turns.to_query_response),
}
"""The conversions, by layout."""


def convert_dialog(sample: Mapping[str, Any], source: Layout, target: Layout) -> dict[str, Any]:
    """A sample in another layout.

    In alpaca, query_response and sharegpt, `""` as system means none: an empty system message is not kept.

    Args:
        sample: A dialog.
        source: Its layout. `"messages"`: `messages` of `role` and `content`, as chat templates take them; `"llava"`:
            `conversations` of `from` and `value`, and `image`; `"sharegpt"`: LLaMA-Factory's `conversations`,
            `system` and `images`; `"alpaca"`: `instruction`, `input`, `output`, `system`, `history`;
            `"query_response"`: Data-Juicer's `query`, `response`, `system`, `history`.
        target: The layout of the result.

    Raises:
        DialogError: The sample does not have the source layout, the target layout cannot represent it, or a column of
            the target layout would replace another column of the sample.
        ValueError: A layout is unknown.
    """
    return _converter(target).from_messages(_converter(source).to_messages(dict(sample)))


def require_dialog(sample: Mapping[str, Any], layout: Layout) -> None:
    """Refuse a sample that does not have a layout.

    Raises:
        DialogError: The sample does not have the layout.
    """
    _converter(layout).to_messages(dict(sample))


def layout_of(sample: Mapping[str, Any]) -> Layout | None:
    """The layout that the columns of a sample suggest; None if there is none."""
    if "messages" in sample:
        return "messages"
    if "conversations" in sample:
        return "llava" if "image" in sample else "sharegpt"
    if "instruction" in sample and "output" in sample:
        return "alpaca"
    return "query_response" if "query" in sample and "response" in sample else None


def _converter(layout: str) -> Converter:
    if layout not in CONVERTERS:
        near = get_close_matches(layout, LAYOUTS, n=1)
        raise ValueError(
            f"no layout {layout!r}; " + (f"did you mean {near[0]!r}?" if near else f"use {', '.join(LAYOUTS)}")
        )
    return CONVERTERS[layout]


__all__ = ["LAYOUTS", "DialogError", "Layout", "convert_dialog", "layout_of", "require_dialog"]
