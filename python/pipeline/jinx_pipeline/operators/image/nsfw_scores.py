"""The base class of filters by the probability that images or frames are not safe for work."""

from collections.abc import Sequence
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


class NsfwFilter(PictureScoreFilter):
    """Keeps samples by the probability that pictures are not safe for work, as estimated by a classifier.

    Attributes:
        hf_nsfw_model: The directory of a model that classifies images with its processor, its name in the local cache,
            or in the recipe's `models`. The probability is that of its class `nsfw`, or of the second of two.
        min_score: The smallest probability.
        max_score: The largest probability.
    """

    hf_nsfw_model: Annotated[Model, Kinds("transformers")] = Model(path="Falconsai/nsfw_image_detection")
    min_score: Annotated[float, Range(0, 1)] = 0.0
    max_score: Annotated[float, Range(0, 1, or_no_limit=True)] = 0.5

    def resolve(self) -> None:
        refuse_other_models(self, hf_nsfw_model=CLASSIFIER)

    def scores(self, media: Sequence[Media], pictures: Pictures, ctx: Context) -> "Sequence[npt.NDArray[np.float32]]":
        return probabilities(self.hf_nsfw_model, media, pictures, ctx, label="nsfw")
