"""Filters by the relations of entities: the operator `text_entity_dependency_filter`."""

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import AnyOrAll, Stats
from jinx_pipeline.operators.api.media_filter import ListFilter
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.spacy_texts import SpacyTexts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_PARTS = frozenset({"NOUN", "PROPN", "PRON"})
_TAGS = frozenset({"NN", "NR", "PN", "NNS", "NNP", "NNPS", "PRP"})


@register("text_entity_dependency_filter", modality="text")
class TextEntityDependencyFilter(SpacyTexts, ListFilter):
    """Keeps texts whose entities depend on other words, or vice versa, as found by a spaCy pipeline.

    Entities are nouns, proper nouns and pronouns. The statistic has the number of dependencies of each; a text without
    entities is dropped.

        create("text_entity_dependency_filter", spacy_model="path/of/en_core_web_md", any_or_all="any")

    Needs spaCy (the extra `spacy`).

    Attributes:
        min_dependency_num: The smallest number of dependencies of an entity.
        any_or_all: Whether at least one entity must have so many, or each.
    """

    min_dependency_num: Annotated[int, Range(0)] = 1
    any_or_all: AnyOrAll = "all"

    stats = {"num_dependency_edges": "list<int64>"}
    thresholds = ("any_or_all", "min_dependency_num")
    annotations = ("TAG", "POS", "DEP")

    def bound(self, name: str) -> tuple[float, float]:
        return (self.min_dependency_num, inf)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        return {"num_dependency_edges": [_dependencies(document) for document in self.documents(batch, ctx)]}

    def keep(self, stats: Mapping[str, pa.Array]) -> "npt.NDArray[np.bool_]":
        import pyarrow.compute as pc  # slower to import than the rest of Arrow

        lengths = pc.fill_null(stats["num_dependency_edges"].value_lengths(), 0).to_numpy(zero_copy_only=False)
        return super().keep(stats) & (lengths > 0)


def _dependencies(document: Any) -> list[int]:
    """The number of dependencies of each entity: on its head, and of words (not punctuation) on it."""
    counts = {token.i: int(token.dep_ != "ROOT") for token in document if _is_entity(token)}
    for token in document:
        if token.pos_ != "PUNCT" and token.dep_ != "ROOT" and token.head.i in counts:
            counts[token.head.i] += 1
    return list(counts.values())


def _is_entity(token: Any) -> bool:
    return token.pos_ in _PARTS and token.tag_ in _TAGS
