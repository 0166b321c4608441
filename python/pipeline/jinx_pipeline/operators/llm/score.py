"""The base of filters by a score that a language model gives."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import msgspec

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.parameters import ParameterError, Share, ShareLimit, Words
from jinx_pipeline.operators.llm.asking import Answer, AskingAnyModel, Messages, as_text

_MOST = 5  # dimensions are rated from 1 to 5


class JudgedFilter(AskingAnyModel, Filter):
    """A filter that uses a language model's judgement. A sample whose answer was not understood has no score.

    The statistic with the record is JSON: the judgement with its reasons, the raw answer, and how it was parsed.

    Attributes:
        input_keys: The columns that the model sees.
        field_names: Their names in the prompt.
    """

    input_keys: Words = field(default_factory=lambda: ["text"])
    field_names: Words = field(default_factory=lambda: ["Text"])

    def check(self) -> None:
        super().check()
        if len(self.input_keys) != len(self.field_names):
            problem = f"input_keys has {len(self.input_keys)} columns, and field_names {len(self.field_names)} names"
            raise ParameterError(self.name, "field_names", problem)

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(self.input_keys)

    @abstractmethod
    def judged(self, answer: Answer) -> Any:
        """The statistic from an answer that was understood."""

    def given(self) -> Mapping[str, str]:
        """The values of the recipe in the prompt."""
        return {}

    def messages_of(self, batch: Batch, ctx: Context) -> list[Messages]:
        del ctx
        prompt = self.template()
        given = self.given()
        columns = [self._values(batch, key) for key in self.input_keys]
        texts = [
            "\n\n".join(f"{name}:\n{as_text(value)}" for name, value in zip(self.field_names, row, strict=True))
            for row in zip(*columns, strict=True)
        ]
        return [prompt.messages({"data": text}, given) for text in texts]

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        answers = self.ask(ctx, self.template(), self.messages_of(batch, ctx))
        judged = [self.judged(answer) if answer.parsed.is_good else None for answer in answers]
        records = [
            msgspec.json.encode({**(answer.value if isinstance(answer.value, dict) else {}), **answer.record}).decode()
            for answer in answers
        ]
        return dict(zip(self.stats, (judged, records), strict=True))

    @staticmethod
    def _values(batch: Batch, key: str) -> list[Any]:
        return batch.text.to_pylist() if key == "text" else batch.column(key)


class ScoreFilter(JudgedFilter):
    """A filter by the mean of several ratings from 1 to 5, divided by 5.

    Attributes:
        min_score: The smallest score.
        max_score: The largest score.
        dim_required_keys: The dimensions that count; None: all of the answer.
    """

    min_score: Share = 0.5
    max_score: ShareLimit = 1.0
    dim_required_keys: list[str] | None = None

    def judged(self, answer: Answer) -> float | None:
        ratings = answer.value.get("dimension_scores", {})
        names = list(ratings) if self.dim_required_keys is None else self.dim_required_keys
        values = [ratings.get(name) for name in names]
        if not values or not all(isinstance(value, int | float) for value in values):
            return None
        return sum(values) / len(values) / _MOST
