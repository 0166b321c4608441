"""Messages of agents with tool calls, in the forms of OpenAI's and Anthropic's interfaces.

A tool call is an element of `tool_calls`, `function_call` of a message, a content block of the type `tool_use`, or an
item of the type `function_call`. A tool result is a message of the role `tool` or `function`, a content block of the
type `tool_result`, or an item of the type `function_call_output`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

TOOL_ROLES = ("tool", "tool_use", "function")
_CALL_LISTS = ("tool_calls", "tool_use")
_THOUGHTS = ("thinking", "reasoning", "reasoning_content")


class ToolCall(NamedTuple):
    """A call of a tool.

    Attributes:
        name: The name of the tool.
        arguments: The arguments: JSON or a dict; None: none.
    """

    name: str
    arguments: Any


class ToolResult(NamedTuple):
    """The result of a tool call.

    Attributes:
        content: The content: a string, a dict or a list of content blocks.
        is_error: Whether the message says that the tool failed; None if it does not say.
    """

    content: Any
    is_error: bool | None


def messages_at(sample: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The messages in a column; empty if it is missing.

    Raises:
        TypeError: The value is not a list of dicts.
    """
    value = sample.get(name)
    if value is None:
        return []
    if not isinstance(value, list | tuple) or not all(isinstance(message, Mapping) for message in value):  # pyright: ignore[reportUnknownVariableType]
        raise TypeError(f"{name} is not a list of messages")
    return list(value)  # pyright: ignore[reportUnknownArgumentType]


def role_of(message: Mapping[str, Any]) -> str:
    """The role in lower case; a call or result that is a separate item belongs to the assistant or to the tool."""
    kinds = {"function_call": "assistant", "function_call_output": "tool"}
    return str(message.get("role") or kinds.get(str(message.get("type")), "")).lower()


def blocks_of(message: Mapping[str, Any], *kinds: str) -> list[Mapping[str, Any]]:
    """The content blocks of some types."""
    content = message.get("content")
    blocks: Sequence[Any] = content if isinstance(content, list | tuple) else []  # pyright: ignore[reportUnknownVariableType]
    return [block for block in blocks if isinstance(block, Mapping) and block.get("type") in kinds]  # pyright: ignore[reportUnknownMemberType]


def tool_calls(message: Mapping[str, Any]) -> list[ToolCall]:
    """The tool calls of a message, in order; calls without a name are left out."""
    calls: list[Any] = [call for name in _CALL_LISTS for call in _listed(message.get(name))]
    calls += blocks_of(message, "tool_use", "server_tool_use")
    calls += [message.get("function_call"), message if message.get("type") == "function_call" else None]
    return [named for call in calls if (named := _tool_call(call)) is not None]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []  # pyright: ignore[reportUnknownArgumentType]


def _tool_call(call: Any) -> ToolCall | None:
    if not isinstance(call, Mapping):
        return None
    function: Any = call.get("function") or call.get("function_call") or call  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    name: Any = function.get("name") if isinstance(function, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(name, str) or not name.strip():
        return None
    arguments: Any = function.get("arguments", function.get("input"))
    return ToolCall(name.strip(), arguments)


def tool_results(message: Mapping[str, Any], roles: Iterable[str] = TOOL_ROLES) -> list[ToolResult]:
    """The tool results of a message, in order.

    Args:
        message: The message.
        roles: The roles of messages that are results as a whole.
    """
    if message.get("type") == "function_call_output":
        return [ToolResult(message.get("output"), _flag(message))]
    blocks = blocks_of(message, "tool_result")
    if blocks:
        return [ToolResult(block.get("content"), _flag(block)) for block in blocks]
    return [ToolResult(message.get("content"), _flag(message))] if role_of(message) in roles else []


def _flag(value: Mapping[str, Any]) -> bool | None:
    flag = value.get("is_error")
    return flag if isinstance(flag, bool) else None


def text_of(content: Any) -> str:
    """The text of a message's content: a string, a dict or a list of blocks; thoughts count, tool calls do not."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content.strip()
    if isinstance(content, list | tuple):
        return "\n".join(text for part in content if (text := text_of(part)))  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(content, Mapping):
        return str(content).strip()
    if content.get("type") in {"tool_use", "tool_result", "server_tool_use"}:  # pyright: ignore[reportUnknownMemberType]
        return ""
    names = ("text", "value", "content", *_THOUGHTS)
    return next((text for name in names if (text := text_of(content.get(name)))), "")  # pyright: ignore[reportUnknownMemberType]


def result_text(content: Any) -> str:
    """The text of a tool result; a dict that is not a content block becomes JSON."""
    if isinstance(content, Mapping) and not isinstance(content.get("text"), str):  # pyright: ignore[reportUnknownMemberType]
        return json.dumps(content, ensure_ascii=False, default=str)
    if isinstance(content, list | tuple):
        return "\n".join(text for part in content if (text := result_text(part)))  # pyright: ignore[reportUnknownVariableType]
    return text_of(content)
