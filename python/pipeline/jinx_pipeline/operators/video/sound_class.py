"""The base class of mappers that classify the sound of videos with a model."""

from collections.abc import Sequence
from typing import Any

from jinx_pipeline.models.audio_classifier import labels_of
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.video.sound_facts import SoundFactsMapper
from jinx_pipeline.sample.media import Media

NO_SOUND = "EMPTY"
"""The class of a video without sound, as in Data-Juicer."""


class SoundClassMapper(SoundFactsMapper):
    """Adds to `__dj__meta__` the most likely class of each video's sound; `EMPTY` for a video without sound."""

    @property
    def classifier(self) -> Model:
        """The model."""
        raise NotImplementedError

    @property
    def nothing(self) -> str:
        return NO_SOUND

    def found(self, media: Sequence[Media], ctx: Context) -> Sequence[Any]:
        return labels_of(self.classifier, media, self.sound, ctx)
