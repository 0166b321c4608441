"""Dialogs as `conversations` of `from` and `value`: LLaVA's layout, and LLaMA-Factory's ShareGPT layout."""

import json
from collections.abc import Mapping
from typing import Any

from jinx_pipeline.sample.dialog_errors import DialogError
from jinx_pipeline.sample.messages import (
    as_text,
    checked,
    media_list,
    refuse_columns,
    take_system,
    with_columns,
    without,
)

_ROLES = {"system": "system", "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant"} | {
    "observation": "tool",
    "tool": "tool",
}
_FROM = {"system": "system", "user": "human", "assistant": "gpt", "tool": "observation"}


def from_llava(sample: dict[str, Any]) -> dict[str, Any]:
    """LLaVA's layout as messages; its `image` becomes `images`."""
    columns = with_columns(without(sample, "conversations", "image"), messages=_messages(sample))
    if sample.get("image") is not None:
        columns = with_columns(columns, images=media_list(sample, "image"))
    return checked(columns)


def to_llava(sample: dict[str, Any]) -> dict[str, Any]:
    """Messages in LLaVA's layout; a single image is not in a list."""
    sample = as_text(sample)
    images = media_list(sample, "images")
    columns = with_columns(without(sample, "messages", "images"), conversations=_conversations(sample["messages"]))
    refuse_columns(columns, "image")
    if images:
        columns["image"] = images[0] if len(images) == 1 else images
    return columns


def from_sharegpt(sample: dict[str, Any]) -> dict[str, Any]:
    """LLaMA-Factory's layout as messages; its `system` becomes the first message."""
    messages = _messages(sample)
    columns = without(sample, "conversations", "system")
    if sample.get("system"):
        messages.insert(0, {"role": "system", "content": sample["system"]})
    return checked(with_columns(columns, messages=messages))


def to_sharegpt(sample: dict[str, Any]) -> dict[str, Any]:
    """Messages in LLaMA-Factory's layout; an initial system message becomes `system`."""
    sample = as_text(sample)
    columns = without(sample, "messages")
    messages = take_system(columns, sample["messages"])
    if not messages:
        raise DialogError("messages has no turn after that of the system, and the layout needs one")
    return with_columns(columns, conversations=_conversations(messages))


def _messages(sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    conversations = sample.get("conversations")
    if not isinstance(conversations, list | tuple) or not conversations:
        raise DialogError("conversations is a list of at least one turn")
    messages: list[dict[str, Any]] = []
    for number, turn in enumerate(conversations):  # pyright: ignore[reportUnknownVariableType]
        where = f"conversations[{number}]"
        if not isinstance(turn, Mapping) or not isinstance(turn.get("value"), str):  # pyright: ignore[reportUnknownMemberType]
            raise DialogError(f"{where} is not a dict with from and value")
        speaker: Any = turn.get("from")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        extra = without(turn, "from", "value")  # pyright: ignore[reportUnknownArgumentType]
        if speaker == "function_call":
            messages.append({"role": "assistant", "content": "", "tool_calls": _calls(turn["value"], where), **extra})
        elif speaker in _ROLES:
            messages.append({"role": _ROLES[speaker], "content": turn["value"], **extra})
        else:
            raise DialogError(f"{where}.from is {speaker!r}; it is one of {', '.join(_ROLES)}, function_call")
    return messages


def _conversations(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    conversations: list[dict[str, Any]] = []
    for message in messages:
        extra = without(message, "role", "content", "tool_calls")
        calls = message.get("tool_calls")
        if message["content"] or not calls:
            conversations.append({"from": _FROM[message["role"]], "value": message["content"] or "", **extra})
        if calls:
            conversations.append({"from": "function_call", "value": _calls_text(calls), **extra})
    return conversations


def _calls(text: str, where: str) -> list[dict[str, Any]]:
    """The calls in a turn of LLaMA-Factory: JSON of one call, or of a list."""
    try:
        parsed: Any = json.loads(text)
        calls = parsed if isinstance(parsed, list) else [parsed]  # pyright: ignore[reportUnknownVariableType]
        return [
            {
                **without(call, "name", "arguments"),  # pyright: ignore[reportUnknownArgumentType]
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in calls  # pyright: ignore[reportUnknownVariableType]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DialogError(f"{where}.value is not JSON of a call with name and arguments") from None


def _calls_text(calls: list[dict[str, Any]]) -> str:
    """JSON of one call, or of a list; the id of a call, which results name, stays next to `name` and `arguments`."""
    plain = [_plain_call(call) for call in calls]
    return json.dumps(plain[0] if len(plain) == 1 else plain, ensure_ascii=False)


def _plain_call(call: Any) -> dict[str, Any]:
    function: Any = call.get("function") if isinstance(call, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(function, Mapping) or set(function) != {"name", "arguments"}:  # pyright: ignore[reportUnknownArgumentType]
        raise DialogError("an entry of tool_calls is not a dict with a function, which has a name and arguments")
    other = without(call, "type", "function")
    if call.get("type", "function") != "function" or {"name", "arguments"} & set(other):
        raise DialogError("an entry of tool_calls is not of the type 'function'")
    return {**dict(function), **other}  # pyright: ignore[reportUnknownArgumentType]
