"""Dialogs as a question and an answer with a history of pairs: Alpaca's layout, and Data-Juicer's columns."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.sample.dialog_errors import DialogError
from jinx_pipeline.sample.messages import as_text, checked, refuse_columns, with_columns, without


def from_alpaca(sample: dict[str, Any]) -> dict[str, Any]:
    """Alpaca's layout as messages: an `input` follows the instruction on a new line, and stays as a column too."""
    instruction, addition = _text(sample, "instruction"), sample.get("input") or ""
    question = f"{instruction}\n{addition}" if addition else instruction
    names = ("instruction", "output") if addition else ("instruction", "output", "input")
    return _messages(sample, question, _text(sample, "output"), names)


def to_alpaca(sample: dict[str, Any]) -> dict[str, Any]:
    """Messages in Alpaca's layout; `input` is split off where the sample has it as a column."""
    made, question, answer = _pairs(sample)
    addition = made.get("input")
    if isinstance(addition, str) and addition and question.endswith(f"\n{addition}"):
        question = question[: -len(addition) - 1]
    else:
        made = with_columns(without(made, "input") if addition in (None, "") else made, input="")
    return with_columns(made, instruction=question, output=answer)


def from_query_response(sample: dict[str, Any]) -> dict[str, Any]:
    """Data-Juicer's columns as messages."""
    return _messages(sample, _text(sample, "query"), _text(sample, "response"), ("query", "response"))


def to_query_response(sample: dict[str, Any]) -> dict[str, Any]:
    """Messages as Data-Juicer's columns."""
    made, question, answer = _pairs(sample)
    return with_columns(made, query=question, response=answer)


def _text(sample: Mapping[str, Any], name: str) -> str:
    value = sample.get(name)
    if not isinstance(value, str):
        raise DialogError(f"{name} is a {type(value).__name__}, not a string")
    return value


def _messages(sample: dict[str, Any], question: str, answer: str, names: tuple[str, ...]) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    if sample.get("system"):
        found.append({"role": "system", "content": _text(sample, "system")})
    for at, pair in enumerate(sample.get("history") or []):
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(one, str) for one in pair):  # noqa: PLR2004  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            raise DialogError(f"history[{at}] is not a pair of a question and an answer")
        found.append({"role": "user", "content": pair[0]})
        found.append({"role": "assistant", "content": pair[1]})
    found.append({"role": "user", "content": question})
    found.append({"role": "assistant", "content": answer})
    return checked(with_columns(without(sample, *names, "system", "history"), messages=found))


def _pairs(sample: dict[str, Any]) -> tuple[dict[str, Any], str, str]:
    """The columns besides the last question and answer, and these."""
    sample = as_text(sample)
    messages = list(sample["messages"])
    made = without(sample, "messages")
    refuse_columns(made, "system", "history")
    if messages[0]["role"] == "system":
        made["system"] = messages.pop(0)["content"]
    for at, message in enumerate(messages):
        wanted = ("user", "assistant")[at % 2]
        if message["role"] != wanted or message.get("tool_calls"):
            raise DialogError(
                f"messages do not alternate between user and assistant: one of {message['role']!r} is out of turn"
            )
    if not messages or len(messages) % 2:
        raise DialogError("messages do not end with an answer of the assistant")
    texts = [message["content"] for message in messages]
    history = [[texts[at], texts[at + 1]] for at in range(0, len(texts) - 2, 2)]
    if history:
        made["history"] = history
    return made, texts[-2], texts[-1]
