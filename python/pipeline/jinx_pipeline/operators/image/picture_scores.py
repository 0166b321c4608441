"""The base classes of filters that score each image, or each video by its frames, with a model."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from jinx_pipeline.models.pictures import Pictures, images_of
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Stats
from jinx_pipeline.operators.api.media_filter import ListFilter
from jinx_pipeline.sample.media import Media
from jinx_pipeline.sample.roles import Role

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class PictureScoreFilter(ListFilter):
    """Keeps samples by a score of each image that a model gives; the statistic is a list with one value per image."""

    batch_size = 128
    is_fed_rows = True
    pure = False  # rounding differs between devices
    role: ClassVar[Role] = "images"

    @abstractmethod
    def scores(self, media: Sequence[Media], pictures: Pictures, ctx: Context) -> "Sequence[npt.NDArray[np.float32]]":
        """The scores of the pictures of each medium."""

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.role,)

    @property
    def pictures(self) -> Pictures:
        """How to make pictures of a medium."""
        return images_of()

    def reduced(self, scores: "npt.NDArray[np.float32]") -> float:
        """The score of a medium."""
        return float(scores[0])

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        ctx.begins(0)  # no time limit per row while the model runs
        samples = [list(media) for media in batch.media(self.role)]
        scores = iter(self.scores([medium for media in samples for medium in media], self.pictures, ctx))
        (name,) = self.stats
        return {name: [[self.reduced(next(scores)) for _ in media] for media in samples]}
