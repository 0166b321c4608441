"""The base class of mappers that add what a model finds in the sound of videos."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import metadata_of, with_metadata
from jinx_pipeline.operators.audio.waveform import mono_at
from jinx_pipeline.operators.video.container import opened
from jinx_pipeline.operators.video.video_metadata import VideoMetadataMapper
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

AUDIO_TAGS: Final = "video_audio_tags"
"""Where `__dj__meta__` has what `video_tagging_from_audio_mapper` found in each video."""
_SPEECH: Final = "speech"


class SoundFactsMapper(VideoMetadataMapper):
    """Adds to `__dj__meta__` a list of what a model finds in the sound of each video.

    Attributes:
        only_speech: Whether it looks only at videos that `video_tagging_from_audio_mapper` tagged as speech, in samples
            that have such tags.
    """

    batch_size = 16
    only_speech: ClassVar[bool] = False

    @property
    def field_name(self) -> str:
        """The key of the list in `__dj__meta__`."""
        raise NotImplementedError

    @property
    def nothing(self) -> Any:
        """The value for a video without sound, or without speech."""
        raise NotImplementedError

    @abstractmethod
    def found(self, media: Sequence[Media], ctx: Context) -> Sequence[Any]:
        """The findings of the model for each medium; None if it has no sound."""

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        samples, rows = batch.samples(), [list(media) for media in batch.media("videos")]
        wanted = [self._wanted(sample, len(media)) for sample, media in zip(samples, rows, strict=True)]
        chosen = [
            medium
            for media, is_wanted in zip(rows, wanted, strict=True)
            for medium, wants in zip(media, is_wanted, strict=True)
            if wants
        ]
        found = iter(self.found(chosen, ctx))
        facts: list[Mapping[str, Any]] = []
        for is_wanted in wanted:
            values = [next(found) if wants else None for wants in is_wanted]
            facts.append({self.field_name: [self.nothing if value is None else value for value in values]})
        return with_metadata(samples, facts)

    def _wanted(self, sample: Mapping[str, Any], count: int) -> list[bool]:
        """Whether each video of a sample should be processed."""
        tags = metadata_of(sample).get(AUDIO_TAGS) if self.only_speech else None
        if not isinstance(tags, Sequence) or isinstance(tags, str) or not tags:
            return [True] * count
        if len(tags) != count:
            raise ValueError(f"the sample has {count} videos, and {AUDIO_TAGS} of {len(tags)}")
        return [str(tag).casefold() == _SPEECH for tag in tags]

    def sound(self, medium: Media, rate: int) -> "npt.NDArray[np.float32] | None":
        """The sound of a video at a sample rate; see `sound_of`."""
        return sound_of(medium, self.name, rate)


def sound_of(medium: Media, operator: str, rate: int) -> "npt.NDArray[np.float32] | None":
    """The sound of a video at a sample rate, float32 of shape (n,); None if it has none.

    Args:
        medium: The video.
        operator: The name of the operator, for messages.
        rate: Samples per second.
    """
    with opened(medium, operator) as container:
        if not container.streams.audio:
            return None
    return mono_at(medium, operator, rate)
