"""The base class of filters by the probability that images or frames have a watermark."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Annotated

from jinx_pipeline.models.classifier import CLASSIFIER, probabilities
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.image.picture_scores import PictureScoreFilter
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class WatermarkFilter(PictureScoreFilter):
    """Keeps samples by the probability that pictures have a watermark, as estimated by a classifier.

    Attributes:
        hf_watermark_model: The directory of a model that classifies images with its processor, its name in the local
            cache, or in the recipe's `models`. The probability is that of its class `watermark`, or of the second of
            two.
        prob_threshold: The largest probability.
    """

    hf_watermark_model: Annotated[Model, Kinds("transformers")] = Model(path="amrul-hzz/watermark_detector")
    prob_threshold: Annotated[float, Range(0, 1)] = 0.8

    thresholds = ("any_or_all", "prob_threshold")

    def resolve(self) -> None:
        refuse_other_models(self, hf_watermark_model=CLASSIFIER)

    def bound(self, name: str) -> tuple[float, float]:
        return (-inf, self.prob_threshold)

    def scores(self, media: Sequence[Media], pictures: Pictures, ctx: Context) -> "Sequence[npt.NDArray[np.float32]]":
        return probabilities(self.hf_watermark_model, media, pictures, ctx, label="watermark")
