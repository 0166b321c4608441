"""The bases of operators that judge a dialog, or label its turns."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from jinx_pipeline.operators.agent.trace import messages_at, result_text, role_of, text_of, tool_calls
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.llm.asking import AskingModel, as_text
from jinx_pipeline.operators.llm.mapping import AskingAboutSamples, FactsMapper, JudgeMapper


class AskingAboutDialogs(AskingAboutSamples):
    """Asks about a dialog: the messages of a sample, or its history, query and response.

    Attributes:
        messages_key: The column with messages of `role` and `content`; without it:
        history_key: The column with earlier pairs of query and response.
        query_key: The column with the last query.
        response_key: The column with the last response.
        max_round: How many rounds the model sees, the last ones.
    """

    messages_key: str = "messages"
    history_key: str = "history"
    query_key: str = "query"
    response_key: str = "response"
    max_round: Annotated[int, Range(1)] = 10

    least_turns: ClassVar[int] = 1

    @property
    def keys(self) -> Mapping[str, str]:
        return {"dialog": self.messages_key}

    @property
    def reads(self) -> tuple[str, ...]:
        return (META,)

    def samples_of(self, batch: Batch, ctx: Context) -> list[dict[str, Any]]:
        del ctx
        columns = (META, self.messages_key, self.history_key, self.query_key, self.response_key)
        known = {name: batch.column(name) for name in columns if name in batch.column_names}
        if not {self.messages_key, self.query_key, self.response_key}.intersection(known):
            batch.column(self.messages_key)  # raises an error that names the missing column
        return [dict(zip(known, row, strict=True)) for row in zip(*known.values(), strict=True)]

    def data(self, sample: Mapping[str, Any]) -> Mapping[str, str] | None:
        turns = self.turns(sample)
        if len(turns) < self.least_turns:
            return None
        return {"dialog": "\n\n".join(f"[{role}] {text}" for role, text in turns)}

    def turns(self, sample: Mapping[str, Any]) -> list[tuple[str, str]]:
        """The role and text of each turn that the model sees."""
        messages = messages_at(sample, self.messages_key)
        if messages:
            turns = [(role_of(message), _shown(message)) for message in messages]
        else:
            pairs = [*_pairs(sample.get(self.history_key)), (sample.get(self.query_key), sample.get(self.response_key))]
            turns = [turn for query, response in pairs for turn in (("user", query), ("assistant", response))]
        spoken = [(role, as_text(text)) for role, text in turns if text]
        starts = [number for number, (role, _) in enumerate(spoken) if role == "user"]
        return spoken[starts[-self.max_round] :] if len(starts) > self.max_round else spoken


class DialogJudge(AskingAboutDialogs, JudgeMapper):
    """Judges a dialog from 1 to 5."""

    least_turns = 2


class DialogLabels(AskingModel, AskingAboutDialogs, FactsMapper):
    """Labels each turn of the user in a dialog, with one request per dialog."""

    @property
    def candidates(self) -> list[str] | None:
        """The labels to choose from; None for any label."""
        return None

    def given(self) -> Mapping[str, str]:
        candidates = self.candidates
        choice = "any fitting label of one to three words" if candidates is None else f"one of: {', '.join(candidates)}"
        return {"candidates": choice}

    def data(self, sample: Mapping[str, Any]) -> Mapping[str, str] | None:
        number = 0
        lines: list[str] = []
        for role, text in self.turns(sample):
            number += role == "user"
            lines.append(f"[{role} {number}] {text}" if role == "user" else f"[{role}] {text}")
        return {"dialog": "\n\n".join(lines)} if number else None

    def fault(self, sample: Mapping[str, Any], value: Any) -> str:
        count = sum(role == "user" for role, _ in self.turns(sample))
        if len(value["turns"]) != count:
            return f"it labels {len(value['turns'])} turns, and the user has {count}"
        wrong = [turn["label"] for turn in value["turns"] if self.candidates and turn["label"] not in self.candidates]
        return f"{wrong[0]!r:.60} is not among the labels" if wrong else ""


def _shown(message: Mapping[str, Any]) -> str:
    """A message as text, with its tool calls."""
    text = result_text(message.get("content")) if role_of(message) == "tool" else text_of(message.get("content"))
    calls = [f"(calls {call.name} with {as_text(call.arguments)})" for call in tool_calls(message)]
    return "\n".join([text, *calls]).strip()


def _pairs(history: Any) -> list[tuple[Any, Any]]:
    if not isinstance(history, list | tuple):
        return []
    return [tuple(pair) for pair in history if isinstance(pair, list | tuple) and len(pair) == 2]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportReturnType]  # noqa: PLR2004
