"""The base class of filters that use what a spaCy pipeline finds in texts."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from jinx_pipeline.models.spacy_pipeline import documents, needed_pipeline, pipeline_name
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.needed_files import NeededFile
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.optional import require
from jinx_pipeline.sample.tokens import without_tokens


class SpacyTexts(Operator):
    """Analyses texts with a spaCy pipeline (the extra `spacy`).

    Attributes:
        lang: The language of the texts: `en` or `zh`.
        spacy_model: The directory of a pipeline of spaCy, or the name of an installed one; None: `en_core_web_md` or
            `zh_core_web_md`.
    """

    lang: Literal["en", "zh"] = "en"
    spacy_model: str | None = None

    batch_size = 256
    pure = False  # pipelines differ between versions of spaCy
    annotations: ClassVar[tuple[str, ...]] = ("TAG", "POS")

    @property
    def needed_files(self) -> list[NeededFile]:
        return [needed_pipeline("spacy_model", self._pipeline)]

    def resolve(self) -> None:
        super().resolve()
        require("spacy", extra="spacy", what=self.name)

    @property
    def _pipeline(self) -> str:
        return pipeline_name(self.lang, self.spacy_model)

    def documents(self, batch: Batch, ctx: Context) -> Iterator[Any]:
        """The texts of a batch without media tokens, as spaCy's `Doc`."""
        ctx.begins(0)  # no time limit per row while the pipeline processes a batch
        texts = [without_tokens(text or "", batch.roles) for text in batch.text.to_pylist()]
        return documents(self._pipeline, texts, ctx, needs=self.annotations)
