"""Filters by the duration of audios: the operator `audio_duration_filter`."""

import sys

from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.audio.waveform import seconds_of
from jinx_pipeline.sample.media import Media


@register("audio_duration_filter", modality="audio")
class AudioDurationFilter(MediaFilter):
    """Keeps samples whose audios have a duration within a range, in seconds; only headers are decoded.

        create("audio_duration_filter", min_duration=1, max_duration=30)

    Needs soundfile (the extra `audio`), which reads WAV, FLAC, OGG, MP3 and other formats; with PyAV (the extra
    `video`), it also reads AAC and other formats that FFmpeg supports.

    Attributes:
        min_duration: The shortest duration.
        max_duration: The longest duration.
        any_or_all: Whether one audio of a sample must pass, or each.
    """

    min_duration: float = 0
    max_duration: float = sys.float_info.max

    role = "audios"
    stats = {"audio_duration": "list<float64>"}
    bounds = {"audio_duration": ("min_duration", "max_duration")}

    def measure_medium(self, medium: Media) -> dict[str, float]:
        return {"audio_duration": seconds_of(medium, self.name)}
