"""The base of aggregators that summarize the texts of a group as a tree, within a limit of tokens."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from jinx_pipeline.llm.client import estimated_tokens
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.api.operator_kinds import Aggregator
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.llm.asking import AskingModel, as_text

BATCH_META: Final = "__dj__batch_meta__"
"""The column for facts about a group, a dict."""


class UnparsedError(ValueError):
    """Raised if the model gives no usable answer for a group."""


class GroupAggregator(AskingModel, Aggregator):
    """Makes one sample from a group, with what a language model says about the group in `__dj__batch_meta__`.

    Attributes:
        input_key: The name in `__dj__meta__`, or the column, with the text of each sample.
    """

    input_key: str = "event_description"

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    @property
    def columns_made(self) -> tuple[str, ...]:
        return (BATCH_META,)

    def values(self, batch: Batch) -> list[Any]:
        """The values of the samples that have a value."""
        known = batch.column(META) if META in batch.column_names else [None] * len(batch)
        values = [facts.get(self.input_key) if isinstance(facts, Mapping) else None for facts in known]
        if not any(value is not None for value in values):
            values = batch.text.to_pylist() if self.input_key == "text" else batch.column(self.input_key)
        return [value for value in values if value]


class TreeAggregator(GroupAggregator):
    """Summarizes texts: as many at once as the limit allows, then the summaries, until only one is left.

    Attributes:
        max_token_num: The maximum number of tokens of texts in a request, as estimated; None: all texts in one.
    """

    max_token_num: Annotated[int, Range(64)] | None = None

    def given(self) -> Mapping[str, str]:
        """The values of the recipe in the prompt."""
        return {}

    def shown(self, value: Any) -> str:
        """The value of an answer as a text for the next level."""
        return as_text(value)

    def summary(self, texts: Sequence[str], ctx: Context) -> Any:
        """The value of the last answer.

        Raises:
            UnparsedError: An answer was not understood.
        """
        prompt = self.template()
        while True:
            parts = self._parts(texts)
            messages = [prompt.messages({"texts": "\n\n---\n\n".join(part)}, self.given()) for part in parts]
            answers = self.ask(ctx, prompt, messages)
            for answer in answers:
                if not answer.parsed.is_good:
                    raise UnparsedError(f"{answer.parsed.problem}: {answer.text[:200]!r}")
            if len(answers) == 1:
                return answers[0].value
            texts = [self.shown(answer.value) for answer in answers]

    def _parts(self, texts: Sequence[str]) -> list[list[str]]:
        """The texts in parts within the limit; each part but the last has at least two, so that the tree ends."""
        if self.max_token_num is None:
            return [list(texts)]
        most = self.max_token_num // 2
        parts: list[list[str]] = []
        room = 0
        for text in texts:
            tokens = min(estimated_tokens(text), most)
            short = text if estimated_tokens(text) <= most else text.encode()[: 4 * most].decode("utf-8", "ignore")
            if not parts or (room < tokens and len(parts[-1]) > 1):
                parts.append([])
                room = self.max_token_num
            parts[-1].append(short)
            room -= tokens
        return parts
