"""The base class of mappers that classify the sound of videos with a model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jinx_pipeline.models.audio_classifier import labels_of
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, with_metadata
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.audio.waveform import mono_at
from jinx_pipeline.operators.video.container import opened
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NO_SOUND = "EMPTY"
"""The class of a video without sound, as in Data-Juicer."""


class SoundClassMapper(Mapper):
    """Adds to `__dj__meta__` the most likely class of the sound of each video; `EMPTY` for one without sound."""

    batch_size = 16
    pure = False  # rounding differs between devices

    @property
    def classifier(self) -> Model:
        """The model."""
        raise NotImplementedError

    @property
    def field_name(self) -> str:
        """The name of the classes in `__dj__meta__`."""
        raise NotImplementedError

    @property
    def reads(self) -> tuple[str, ...]:
        return ("videos", META)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # a model has no time limit for a row
        samples = [list(media) for media in batch.media("videos")]
        found = iter(labels_of(self.classifier, [medium for media in samples for medium in media], self._sound, ctx))
        labels = [[next(found) or NO_SOUND for _ in media] for media in samples]
        return with_metadata(batch.samples(), [{self.field_name: one} for one in labels])

    def _sound(self, medium: Media, rate: int) -> "npt.NDArray[np.float32] | None":
        with opened(medium, self.name) as container:
            if not container.streams.audio:
                return None
        return mono_at(medium, self.name, rate)
