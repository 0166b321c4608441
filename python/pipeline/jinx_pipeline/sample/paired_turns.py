"""Dialogs as a question and an answer, with a history of pairs: Alpaca's layout, and Data-Juicer's columns."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.sample.dialog_errors import DialogError
from jinx_pipeline.sample.messages import (
    as_text,
    checked,
    refuse_columns,
    refuse_keys,
    take_system,
    with_columns,
    without,
)


def from_alpaca(sample: dict[str, Any]) -> dict[str, Any]:
    """Alpaca's layout as messages: an `input` follows the instruction on a new line, and also stays a column."""
    instruction = _text(sample, "instruction")
    addition = "" if sample.get("input") is None else _text(sample, "input")
    question = f"{instruction}\n{addition}" if addition else instruction
    names = ("instruction", "output") if addition else ("instruction", "output", "input")
    return _messages(sample, question, _text(sample, "output"), names)


def to_alpaca(sample: dict[str, Any]) -> dict[str, Any]:
    """Messages in Alpaca's layout; the text of the column `input` is removed from the end of the instruction."""
    columns, question, answer = _pairs(sample)
    addition = columns.get("input")
    if isinstance(addition, str) and addition and question.endswith(f"\n{addition}"):
        question = question[: -len(addition) - 1]
    else:
        columns = with_columns(without(columns, "input") if addition in (None, "") else columns, input="")
    return with_columns(columns, instruction=question, output=answer)


def from_query_response(sample: dict[str, Any]) -> dict[str, Any]:
    """Data-Juicer's columns as messages."""
    return _messages(sample, _text(sample, "query"), _text(sample, "response"), ("query", "response"))


def to_query_response(sample: dict[str, Any]) -> dict[str, Any]:
    """Messages as Data-Juicer's columns."""
    columns, question, answer = _pairs(sample)
    return with_columns(columns, query=question, response=answer)


def _text(sample: Mapping[str, Any], name: str) -> str:
    value = sample.get(name)
    if not isinstance(value, str):
        raise DialogError(f"{name} is a {type(value).__name__}, not a string")
    return value


def _messages(sample: dict[str, Any], question: str, answer: str, names: tuple[str, ...]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    if sample.get("system") is not None and sample["system"] != "":
        messages.append({"role": "system", "content": _text(sample, "system")})
    for number, pair in enumerate(sample.get("history") or []):
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):  # noqa: PLR2004  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            raise DialogError(f"history[{number}] is not a pair of a question and an answer")
        messages.append({"role": "user", "content": pair[0]})
        messages.append({"role": "assistant", "content": pair[1]})
    messages.append({"role": "user", "content": question})
    messages.append({"role": "assistant", "content": answer})
    return checked(with_columns(without(sample, *names, "system", "history"), messages=messages))


def _pairs(sample: dict[str, Any]) -> tuple[dict[str, Any], str, str]:
    """The other columns, the last question and the last answer."""
    sample = as_text(sample)
    columns = without(sample, "messages")
    refuse_columns(columns, "history")
    messages = take_system(columns, sample["messages"])
    for number, message in enumerate(messages):
        expected_role = ("user", "assistant")[number % 2]
        if message["role"] != expected_role or message.get("tool_calls"):
            raise DialogError(
                f"messages do not alternate between user and assistant: one of {message['role']!r} is out of turn"
            )
        refuse_keys(message)
    if not messages or len(messages) % 2:
        raise DialogError("messages do not end with an answer of the assistant")
    texts = [message["content"] for message in messages]
    history = [[texts[turn], texts[turn + 1]] for turn in range(0, len(texts) - 2, 2)]
    if history:
        columns["history"] = history
    return columns, texts[-2], texts[-1]
