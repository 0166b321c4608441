"""Turns traces of agents into dialogs: the operator `agent_dialog_normalize_mapper`."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from jinx_pipeline.operators.agent.trace import messages_at, result_text, role_of, text_of, tool_calls, tool_results
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, with_metadata
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register

DEFAULT_USER_LABEL: Final = "User"
DEFAULT_ASSISTANT_LABEL: Final = "Assistant"
_RESULT: Final = "[Tool result]\n"
_MOST_NAMES: Final = 10


@register("agent_dialog_normalize_mapper", modality="text")
class AgentDialogNormalizeMapper(Mapper):
    r"""Adds the turns of an agent's messages as `dialog_history`, their text, and the last `query` and `response`.

    A turn is a user's message and all that follows until the next: the assistant's texts and tool results. A message
    of the assistant without text is shown by the names of the tools that it calls. Messages are those of OpenAI's and
    Anthropic's interfaces; a user's message that only has tool results starts no turn. If the last turn has no
    response, the first of `choices` with a text is its response.

        samples = [{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}]
        create("agent_dialog_normalize_mapper")(samples)  # text: "User: Hi\n\nAssistant: Hello"

    `__dj__meta__` gets `agent_turn_count`, `agent_tool_types` (names of called tools) and `agent_skill_types`,
    `agent_last_user_msg_idx` and `agent_last_assistant_msg_idx` (positions in the messages),
    `agent_dialog_history_compressed` (whether a limit of characters was reached), and from the sample
    `agent_request_id`, `agent_request_model`, `agent_pt` and `agent_total_cost_time_ms`.

    Attributes:
        messages_key: The column with the messages.
        choices_key: The column with the choices of a response.
        text_key: The column for the text of all turns.
        history_key: The column for the turns, pairs of query and response.
        query_key: The column for the last query.
        response_key: The column for the last response.
        extract_tool_skill_tags: Whether names of tools and skills are collected.
        include_system_in_first_user: Whether system messages precede the next query.
        user_label: The label of queries in the text.
        assistant_label: The label of responses in the text.
        copy_lineage_fields: Whether `request_model`, `pt` and `total_cost_time` are copied.
        copy_request_id: Whether the request's ID is copied.
        request_id_keys: Columns of which the first with a value is the request's ID.
        history_tool_result_max_chars: The maximum number of characters of a tool result; 0 for no limit. Of a longer
            text, its start and end stay.
        history_max_assistant_trace_chars: The maximum number of characters of a response; 0 for no limit.
        history_max_user_chars: The maximum number of characters of a query; 0 for no limit.
        history_compress_head_ratio: The share of the start in what stays.
    """

    messages_key: str = "messages"
    choices_key: str = "choices"
    text_key: str = "text"
    history_key: str = "dialog_history"
    query_key: str = "query"
    response_key: str = "response"
    extract_tool_skill_tags: bool = True
    include_system_in_first_user: bool = False
    user_label: str = DEFAULT_USER_LABEL
    assistant_label: str = DEFAULT_ASSISTANT_LABEL
    copy_lineage_fields: bool = True
    copy_request_id: bool = True
    request_id_keys: tuple[str, ...] = ("request_id", "trace_id", "id")
    history_tool_result_max_chars: Annotated[int, Range(0)] = 10_000
    history_max_assistant_trace_chars: Annotated[int, Range(0)] = 0
    history_max_user_chars: Annotated[int, Range(0)] = 0
    history_compress_head_ratio: Annotated[float, Range(0, 1)] = 0.62

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.messages_key, META)

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.text_key, self.history_key, self.query_key, self.response_key, META)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        batch.column(self.messages_key)  # raises an error if the column does not exist
        samples = batch.samples()
        dialogs = [self._dialog(sample) for sample in ctx.each(samples)]
        columns: dict[str, list[Any]] = {
            self.text_key: [self._text(turns) for turns, _ in dialogs],
            self.history_key: [[list(turn) for turn in turns] for turns, _ in dialogs],
            self.query_key: [turns[-1][0] if turns else "" for turns, _ in dialogs],
            self.response_key: [turns[-1][1] if turns else "" for turns, _ in dialogs],
        }
        return {**columns, **with_metadata(samples, [facts for _, facts in dialogs])}

    def _dialog(self, sample: Mapping[str, Any]) -> tuple[list[tuple[str, str]], dict[str, Any]]:
        messages = messages_at(sample, self.messages_key)
        turns = _Turns(self)
        for message in messages:
            turns.add(message)
        reply = _reply(sample.get(self.choices_key))
        if reply and not (turns.pairs and turns.pairs[-1][1]):
            turns.respond(reply)
        facts: dict[str, Any] = {
            "agent_dialog_history_compressed": turns.is_compressed,
            "agent_turn_count": len(turns.pairs),
        }
        if self.extract_tool_skill_tags:
            facts["agent_tool_types"] = _unique(call.name for message in messages for call in tool_calls(message))
            facts["agent_skill_types"] = _unique(name for message in messages for name in _skills(message))
        roles = [role_of(message) if _is_turn(message) else "tool" for message in messages]
        for role in ("user", "assistant"):
            if role in roles:
                facts[f"agent_last_{role}_msg_idx"] = len(roles) - 1 - roles[::-1].index(role)
        return turns.pairs, {**facts, **self._copied(sample)}

    def _copied(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        if self.copy_request_id:
            ids = (str(sample.get(name)).strip() for name in self.request_id_keys if sample.get(name) is not None)
            facts["agent_request_id"] = next(filter(None, ids), None)
        if self.copy_lineage_fields:
            facts["agent_request_model"] = sample.get("request_model")
            facts["agent_pt"] = sample.get("pt")
            facts["agent_total_cost_time_ms"] = sample.get("total_cost_time")
        return {name: value for name, value in facts.items() if value is not None}

    def _text(self, turns: list[tuple[str, str]]) -> str:
        labelled = ((self.user_label, self.assistant_label) for _ in turns)
        lines = (
            f"{label}: {text}"
            for labels, turn in zip(labelled, turns, strict=True)
            for label, text in zip(labels, turn, strict=True)
            if text
        )
        return "\n\n".join(lines)


class _Turns:
    """The turns of messages.

    Attributes:
        pairs: Queries and responses.
        is_compressed: Whether a text was longer than its limit.
    """

    def __init__(self, limits: AgentDialogNormalizeMapper) -> None:
        self._limits = limits
        self._system: list[str] = []
        self.pairs: list[tuple[str, str]] = []
        self.is_compressed = False

    def add(self, message: Mapping[str, Any]) -> None:
        """Add a message to the turns."""
        limits = self._limits
        for result in tool_results(message):
            shown = self._short(result_text(result.content), limits.history_tool_result_max_chars)
            self.respond(_RESULT + shown, "\n")
        role, text = role_of(message), text_of(message.get("content"))
        if role in {"system", "developer"}:
            if text and limits.include_system_in_first_user:
                self._system.append(text)
        elif role == "user" and _is_turn(message):
            query = "\n\n".join([*self._system, text]).strip()
            self._system = []
            self.pairs.append((self._short(query, limits.history_max_user_chars), ""))
        elif role == "assistant":
            self.respond(text or _names(message))

    def respond(self, text: str, separator: str = "\n\n") -> None:
        """Add text to the response of the last turn."""
        query, response = self.pairs.pop() if self.pairs else ("", "")
        longer = separator.join(filter(None, [response, text]))
        self.pairs.append((query, self._short(longer, self._limits.history_max_assistant_trace_chars)))

    def _short(self, text: str, limit: int) -> str:
        """The start and the end of a text that is longer than its limit."""
        if not limit or len(text) <= limit:
            return text
        self.is_compressed = True
        mark = f"\n[... {len(text) - limit} characters or more left out ...]\n"
        room = limit - len(mark)
        if room <= 0:
            return text[:limit]
        head = round(room * self._limits.history_compress_head_ratio)
        return text[:head] + mark + text[len(text) - (room - head) :]


def _is_turn(message: Mapping[str, Any]) -> bool:
    """Whether a message contains more than tool results."""
    return not tool_results(message) or (role_of(message) == "user" and bool(text_of(message.get("content"))))


def _names(message: Mapping[str, Any]) -> str:
    names = _unique(call.name for call in tool_calls(message))
    more = [f"...+{len(names) - _MOST_NAMES}"] if len(names) > _MOST_NAMES else []
    return f"[Tool calls: {', '.join([*names[:_MOST_NAMES], *more])}]" if names else ""


def _reply(choices: Any) -> str:
    """The first text of the choices of a response."""
    for choice in choices if isinstance(choices, list | tuple) else ():  # pyright: ignore[reportUnknownVariableType]
        if isinstance(choice, Mapping):
            message: Any = choice.get("message") or choice.get("delta") or choice  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            text = text_of(message.get("content")) if isinstance(message, Mapping) else ""  # pyright: ignore[reportUnknownMemberType]
            if text:
                return text
    return ""


# The name of a skill's directory, or an English name in a second-level heading.
_SKILLS = re.compile(
    r"[/\\]([A-Za-z][\w-]{0,100})[/\\]SKILL\.md|^##[ \t]+([A-Za-z]\w*(?:\.\w+)?)[ \t]*$", re.ASCII | re.MULTILINE
)


def _skills(message: Mapping[str, Any]) -> list[str]:
    texts = [text_of(message.get("content")), *(result_text(result.content) for result in tool_results(message))]
    return [match[1] or match[2] for text in texts for match in _SKILLS.finditer(text)]


def _unique(names: Any) -> list[str]:
    return list(dict.fromkeys(names))
