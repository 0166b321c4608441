"""Dialogs as `conversations` of `from` and `value`: LLaVA's, and LLaMA-Factory's ShareGPT."""

import json
from collections.abc import Mapping
from typing import Any

from jinx_pipeline.sample.dialog_errors import DialogError
from jinx_pipeline.sample.messages import as_text, checked, refuse_columns, with_columns, without

_ROLES = {"system": "system", "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant"} | {
    "observation": "tool",
    "tool": "tool",
}
_FROM = {"system": "system", "user": "human", "assistant": "gpt", "tool": "observation"}


def from_llava(sample: dict[str, Any]) -> dict[str, Any]:
    """LLaVA's layout as messages; its `image` becomes `images`."""
    made = with_columns(without(sample, "conversations", "image"), messages=_messages(sample))
    if sample.get("image") is not None:
        image = sample["image"]
        images: list[Any] = list(image) if isinstance(image, list | tuple) else [image]  # pyright: ignore[reportUnknownArgumentType]
        made = with_columns(made, images=images)
    return checked(made)


def to_llava(sample: dict[str, Any]) -> dict[str, Any]:
    """Messages in LLaVA's layout; one image is not in a list."""
    sample = as_text(sample)
    images = sample.get("images") or []
    made = with_columns(without(sample, "messages", "images"), conversations=_conversations(sample["messages"]))
    refuse_columns(made, "image")
    if images:
        made["image"] = images[0] if len(images) == 1 else list(images)
    return made


def from_sharegpt(sample: dict[str, Any]) -> dict[str, Any]:
    """LLaMA-Factory's layout as messages; its `system` becomes the first message."""
    found = _messages(sample)
    made = without(sample, "conversations", "system")
    if sample.get("system"):
        found.insert(0, {"role": "system", "content": sample["system"]})
    return checked(with_columns(made, messages=found))


def to_sharegpt(sample: dict[str, Any]) -> dict[str, Any]:
    """Messages in LLaMA-Factory's layout; a first message of the system becomes `system`."""
    sample = as_text(sample)
    messages = sample["messages"]
    made = without(sample, "messages")
    refuse_columns(made, "system")
    if messages[0]["role"] == "system":
        made["system"] = messages[0]["content"]
        messages = messages[1:]
    return with_columns(made, conversations=_conversations(messages))


def _messages(sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = sample.get("conversations")
    if not isinstance(found, list | tuple) or not found:
        raise DialogError("conversations is a list of at least one turn")
    made: list[dict[str, Any]] = []
    for at, turn in enumerate(found):  # pyright: ignore[reportUnknownVariableType]
        where = f"conversations[{at}]"
        if not isinstance(turn, Mapping) or not isinstance(turn.get("value"), str):  # pyright: ignore[reportUnknownMemberType]
            raise DialogError(f"{where} is not a dict with from and value")
        speaker: Any = turn.get("from")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        rest = without(turn, "from", "value")  # pyright: ignore[reportUnknownArgumentType]
        if speaker == "function_call":
            made.append({"role": "assistant", "content": "", "tool_calls": _calls(turn["value"], where), **rest})
        elif speaker in _ROLES:
            made.append({"role": _ROLES[speaker], "content": turn["value"], **rest})
        else:
            raise DialogError(f"{where}.from is {speaker!r}; it is one of {', '.join(_ROLES)}, function_call")
    return made


def _conversations(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for message in messages:
        rest = without(message, "role", "content", "tool_calls")
        calls = message.get("tool_calls")
        if message["content"] or not calls:
            made.append({"from": _FROM[message["role"]], "value": message["content"] or "", **rest})
        if calls:
            made.append({"from": "function_call", "value": _calls_text(calls), **rest})
    return made


def _calls(text: str, where: str) -> list[dict[str, Any]]:
    """The calls in a turn of LLaMA-Factory: JSON of one, or of a list."""
    try:
        found: Any = json.loads(text)
        calls = found if isinstance(found, list) else [found]  # pyright: ignore[reportUnknownVariableType]
        return [
            {"type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in calls  # pyright: ignore[reportUnknownVariableType]
        ]
    except (ValueError, KeyError, TypeError):
        raise DialogError(f"{where}.value is not JSON of a call with name and arguments") from None


def _calls_text(calls: list[dict[str, Any]]) -> str:
    found = [{"name": call["function"]["name"], "arguments": call["function"]["arguments"]} for call in calls]
    return json.dumps(found[0] if len(found) == 1 else found, ensure_ascii=False)
