"""Operators that add facts about samples to the column `__dj__meta__`."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Mapper

META: Final = "__dj__meta__"
"""The column for facts about samples, a dict."""


class MetadataMapper(Mapper):
    """Adds facts about each sample to the dict in the column `__dj__meta__`."""

    @abstractmethod
    def facts(self, sample: Mapping[str, Any]) -> Mapping[str, Any]:
        """The facts to add, by name."""

    @property
    def reads(self) -> tuple[str, ...]:
        return (META,)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        for path in self.reads:
            if path != META:
                batch.column(path)  # a column that does not exist is an error
        samples = batch.samples()
        return with_metadata(samples, [self.facts(sample) for sample in ctx.each(samples)])


def metadata_of(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    """The facts about a sample that are already known."""
    known = sample.get(META)
    return known if isinstance(known, Mapping) else {}


def with_metadata(samples: Sequence[Mapping[str, Any]], facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The changed column, with `facts` added to those that are already known."""
    return {META: [{**metadata_of(sample), **added} for sample, added in zip(samples, facts, strict=True)]}
