"""The base of mappers that find something in a text."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.llm.asking import AskingModel
from jinx_pipeline.operators.llm.mapping import FactsMapper, own_column


class ExtractingMapper(AskingModel, FactsMapper):
    """Finds something in the text of each sample.

    Attributes:
        text_key: The column with the text.
        drop_text: Whether the text is replaced by an empty one where something was found.
    """

    text_key: str = "text"
    drop_text: bool = False

    @property
    def keys(self) -> Mapping[str, str]:
        return {"text": self.text_key}

    @property
    def writes(self) -> tuple[str, ...]:
        return (*super().writes, self.text_key) if self.drop_text else super().writes

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        columns = dict(super().process(batch, ctx))
        if self.drop_text:
            columns[own_column(batch, self.text_key)] = [""] * len(batch)
        return columns
