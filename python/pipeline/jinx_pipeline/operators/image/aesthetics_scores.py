"""The base class of filters by the aesthetics of images or frames."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from jinx_pipeline.models.aesthetics import AESTHETICS, DEFAULT_AESTHETICS, aesthetics
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.image.picture_scores import PictureScoreFilter
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class AestheticsFilter(PictureScoreFilter):
    """Keeps samples by the aesthetics score of pictures, from 0 to 1, which a LAION predictor gives.

    Attributes:
        hf_scorer_model: The directory of a predictor of the package simple-aesthetics-predictor (V1, V2Linear or
            V2ReLU) with its processor, its name in the local cache, or in the recipe's `models`. The package itself is
            not needed.
        min_score: The smallest score.
        max_score: The largest score.
    """

    hf_scorer_model: Annotated[Model, Kinds("transformers")] = DEFAULT_AESTHETICS
    min_score: float = 0.5
    max_score: float = 1.0

    def resolve(self) -> None:
        refuse_other_models(self, hf_scorer_model=AESTHETICS)

    def scores(self, media: Sequence[Media], pictures: Pictures, ctx: Context) -> "Sequence[npt.NDArray[np.float32]]":
        return aesthetics(self.hf_scorer_model, media, pictures, ctx)
