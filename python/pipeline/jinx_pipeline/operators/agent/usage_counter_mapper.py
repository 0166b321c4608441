"""Counts the tokens of an agent's requests: the operator `usage_counter_mapper`."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from jinx_pipeline.operators.api.metadata import MetadataMapper
from jinx_pipeline.operators.api.registry import register

_PROMPT: Final = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_token_count")
_COMPLETION: Final = ("completion_tokens", "output_tokens", "candidatesTokenCount", "candidates_token_count")
_TOTAL: Final = ("total_tokens", "totalTokenCount", "total_token_count")
# Anthropic's input_tokens do not include these; OpenAI's prompt_tokens include cached ones.
_CACHE: Final = ("cache_creation_input_tokens", "cache_read_input_tokens")
_NESTED: Final = ("usage", "usage_metadata", "usageMetadata")


class _Usage(NamedTuple):
    prompt: int
    completion: int
    total: int


@register("usage_counter_mapper", modality="text")
class UsageCounterMapper(MetadataMapper):
    """Adds the numbers of tokens of a response to `__dj__meta__`: `prompt_tokens`, `completion_tokens`, `total_tokens`.

    They are summed over all usage records of OpenAI's, Anthropic's or Gemini's form: in the column `usage_key`, in the
    response metadata, in each choice and its message. Tokens that Anthropic's interface read from or wrote to its cache
    count as prompt tokens. A record without a total has the sum of both as its total. Without any record,
    `total_tokens` is None.

        samples = [{"usage": {"input_tokens": 10, "output_tokens": 5}}]
        create("usage_counter_mapper")(samples)  # prompt_tokens: 10, completion_tokens: 5, total_tokens: 15

    Attributes:
        choices_key: The column with the choices of a response.
        usage_key: The column with a usage record.
        response_metadata_key: The column with metadata that has a usage record.
        dedupe_identical_usage: Whether equal records count once, because a response often repeats its record.
    """

    choices_key: str = "choices"
    usage_key: str = "usage"
    response_metadata_key: str = "response_metadata"
    dedupe_identical_usage: bool = True

    def facts(self, sample: Mapping[str, Any]) -> Mapping[str, Any]:
        usages = [usage for holder in self._holders(sample) if (usage := _usage_of(holder)) is not None]
        if self.dedupe_identical_usage:
            usages = list(dict.fromkeys(usages))
        return {
            "prompt_tokens": sum(usage.prompt for usage in usages),
            "completion_tokens": sum(usage.completion for usage in usages),
            "total_tokens": sum(usage.total for usage in usages) if usages else None,
        }

    def _holders(self, sample: Mapping[str, Any]) -> Iterator[Any]:
        """The dicts that may be, or contain, a usage record."""
        yield sample.get(self.usage_key)
        yield sample.get(self.response_metadata_key)
        choices: Any = sample.get(self.choices_key)
        for choice in choices if isinstance(choices, list | tuple) else ():  # pyright: ignore[reportUnknownVariableType]
            yield choice
            if isinstance(choice, Mapping):
                yield choice.get("message") or choice.get("delta")  # pyright: ignore[reportUnknownMemberType]


def _usage_of(holder: Any) -> _Usage | None:
    if not isinstance(holder, Mapping):
        return None
    nested: Any = next((holder[name] for name in _NESTED if isinstance(holder.get(name), Mapping)), holder)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    prompt, completion, total = (_first(nested, names) for names in (_PROMPT, _COMPLETION, _TOTAL))
    if prompt is None and completion is None and total is None:
        return None
    cached = sum(_count(nested.get(name)) or 0 for name in _CACHE)
    both = ((prompt or 0) + cached, completion or 0)
    return _Usage(*both, total if total is not None else sum(both))


def _first(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := _count(usage.get(name))) is not None), None)


def _count(value: Any) -> int | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value // 1 == value
    return int(value) if is_number else None
