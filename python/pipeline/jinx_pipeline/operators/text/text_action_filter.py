"""Filters by the number of verbs: the operator `text_action_filter`."""

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats, inside
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.spacy_texts import SpacyTexts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_TAGS = frozenset({"VV", "VB", "VBP", "VBZ", "VBD", "VBG", "VBN"})


@register("text_action_filter", modality="text")
class TextActionFilter(SpacyTexts, Filter):
    """Keeps texts with enough actions: verbs, as found by a spaCy pipeline.

        create("text_action_filter", spacy_model="path/of/en_core_web_md", min_action_num=2)

    Needs spaCy (the extra `spacy`).

    Attributes:
        min_action_num: The smallest number of verbs.
    """

    min_action_num: Annotated[int, Range(0)] = 1

    stats = {"num_action": "int64"}
    thresholds = ("min_action_num",)

    def keep(self, stats: Mapping[str, pa.Array]) -> "npt.NDArray[np.bool_]":
        return inside(stats["num_action"], self.min_action_num, inf)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        return {
            "num_action": [
                sum(token.pos_ == "VERB" and token.tag_ in _TAGS for token in document)
                for document in self.documents(batch, ctx)
            ]
        }
