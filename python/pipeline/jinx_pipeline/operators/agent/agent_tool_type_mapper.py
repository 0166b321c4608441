"""Finds the tools that an agent uses most: the operator `agent_tool_type_mapper`."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.operators.agent.trace import messages_at, tool_calls
from jinx_pipeline.operators.api.metadata import MetadataMapper, metadata_of
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register


@register("agent_tool_type_mapper", modality="text")
class AgentToolTypeMapper(MetadataMapper):
    """Adds the most frequently called tool and the most frequent few to `__dj__meta__`.

    Calls are counted in the messages. For a sample without messages, the list of names that
    `agent_dialog_normalize_mapper` wrote to `__dj__meta__` is used, in which each name occurs once. Of equally frequent
    tools, the one called first comes first.

        samples = [{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "search"}}]}]}]
        create("agent_tool_type_mapper")(samples)  # primary_tool_type: "search", dominant_tool_types: ["search"]

    Attributes:
        tool_types_meta_key: The list of names in `__dj__meta__`.
        primary_key: The name in `__dj__meta__` for the most frequent tool; None if there is none.
        dominant_key: The name in `__dj__meta__` for the list of the most frequent tools.
        top_k_dominant: How many tools this list has at most.
        messages_key: The column with the messages.
    """

    tool_types_meta_key: str = "agent_tool_types"
    primary_key: str = "primary_tool_type"
    dominant_key: str = "dominant_tool_types"
    top_k_dominant: Annotated[int, Range(1)] = 5
    messages_key: str = "messages"

    def facts(self, sample: Mapping[str, Any]) -> Mapping[str, Any]:
        calls = [call.name for message in messages_at(sample, self.messages_key) for call in tool_calls(message)]
        known = metadata_of(sample).get(self.tool_types_meta_key)
        if not calls and isinstance(known, list | tuple):
            calls = [name for value in known if (name := str(value).strip())]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        dominant = [name for name, _ in Counter(calls).most_common(self.top_k_dominant)]
        return {self.primary_key: dominant[0] if dominant else None, self.dominant_key: dominant}
