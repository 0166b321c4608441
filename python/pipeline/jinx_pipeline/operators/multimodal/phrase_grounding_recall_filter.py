"""Filters by how many phrases of a text its images show: the operator `phrase_grounding_recall_filter`."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from jinx_pipeline.models.detection import overlap
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.grounding import GROUNDING, Located, Phrases, located
from jinx_pipeline.models.spacy_pipeline import documents, needed_pipeline, pipeline_name
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.needed_files import NeededFile
from jinx_pipeline.operators.api.parameters import Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.multimodal.media_text_scores import MediaTextFilter, Pair
from jinx_pipeline.optional import require

# A determiner, adjectives and nouns, as Penn Treebank tags that are abbreviated to one letter per token.
_PHRASE = re.compile("d?j*n+")
_PUNCTUATION = re.compile(r"[^\w\s-]+")


@register("phrase_grounding_recall_filter", modality="multimodal")
class PhraseGroundingRecallFilter(MediaTextFilter):
    """Keeps samples by the share of the noun phrases of a text that an open-vocabulary detector finds in its images.

    A chunk of text without noun phrases has the share 1.

        create("phrase_grounding_recall_filter", hf_owlvit="/models/owlvit", spacy_model="/models/en_core_web_sm")

    Phrases come from a pipeline of spaCy. (Data-Juicer takes the tagger of NLTK.) Needs transformers, torch, Pillow and
    spaCy (the extras `model` and `spacy`).

    Attributes:
        hf_owlvit: The directory of an OWL-ViT or OWLv2 model with its processor, its name in the local cache, or in the
            recipe's `models`.
        spacy_model: The directory of an English pipeline of spaCy, or the name of an installed one; None:
            `en_core_web_md`.
        min_recall: The smallest share.
        max_recall: The largest share.
        iou_thr: A box whose intersection with one of another found phrase is a larger share of their union does not
            count.
        large_area_ratio_thr: A box that covers a larger share of the image does not count.
        conf_thr: The smallest probability of a box.
    """

    hf_owlvit: Annotated[Model, Kinds("transformers")] = Model(path="google/owlvit-base-patch32")
    spacy_model: str | None = None
    min_recall: Share = 0.1
    max_recall: Share = 1.0
    iou_thr: Share = 0.5
    large_area_ratio_thr: Share = 0.95
    conf_thr: Share = 0.0

    batch_size = 32
    stats = {"phrase_grounding_recall": "list<float64>"}
    bounds = {"phrase_grounding_recall": ("min_recall", "max_recall")}

    @property
    def needed_files(self) -> list[NeededFile]:
        return [*super().needed_files, needed_pipeline("spacy_model", self._pipeline)]

    @property
    def _pipeline(self) -> str:
        return pipeline_name("en", self.spacy_model)

    def resolve(self) -> None:
        refuse_other_models(self, hf_owlvit=GROUNDING)
        require("spacy", extra="spacy", what=self.name)

    def scores(self, pairs: Sequence[Pair], ctx: Context) -> Sequence[Sequence[float]]:
        texts = [_PUNCTUATION.sub(" ", pair.text.lower()) for pair in pairs]
        phrases = [noun_phrases(document) for document in documents(self._pipeline, texts, ctx, needs=["TAG"])]
        wanted = [
            Phrases(medium, named) for pair, named in zip(pairs, phrases, strict=True) if named for medium in pair.media
        ]
        found = iter(located(self.hf_owlvit, wanted, self.pictures, ctx, min_score=self.conf_thr))
        return [
            [self._recall(picture, len(named)) for _ in pair.media for picture in next(found)] if named else [1.0]
            for pair, named in zip(pairs, phrases, strict=True)
        ]

    def _recall(self, boxes: Sequence[Located], count: int) -> float:
        """The share of `count` phrases that were found, using only the `count` most probable boxes."""
        hits: dict[int, Located] = {}
        for found in boxes[:count]:
            if found.number in hits or found.share > self.large_area_ratio_thr:
                continue
            if all(overlap(found.box, other.box) <= self.iou_thr for other in hits.values()):
                hits[found.number] = found
        return len(hits) / count


def noun_phrases(document: Any) -> tuple[str, ...]:
    """The noun phrases of a text: an optional determiner, any adjectives, and nouns.

    Args:
        document: The text as spaCy's `Doc`, with the tags of the Penn Treebank.
    """
    tokens = [token for token in document if not token.is_space]
    letters = "".join(_letter(token.tag_) for token in tokens)
    spans = (match.span() for match in _PHRASE.finditer(letters))
    return tuple(" ".join(token.text for token in tokens[start:stop]) for start, stop in spans)


def _letter(tag: str) -> str:
    return next((letter for start, letter in _LETTERS.items() if tag.startswith(start)), "-")


_LETTERS: Mapping[str, str] = {"DT": "d", "JJ": "j", "NN": "n"}
