"""Filters by the sizes of audio files: the operator `audio_size_filter`."""

from jinx_pipeline.operators.api.media_size_filter import MediaSizeFilter
from jinx_pipeline.operators.api.registry import register


@register("audio_size_filter", modality="audio")
class AudioSizeFilter(MediaSizeFilter):
    """Keeps samples whose audio files have a size within a range, in bytes; no audio is read, except behind URLs.

        create("audio_size_filter", min_size="10KB", max_size="20MB")

    Sizes are numbers of bytes, or strings with a unit: `KB`, `KiB` and `K` are 1024 bytes, `MB` 1024 KB, and so on, as
    in Data-Juicer.

    Attributes:
        min_size: The smallest size.
        max_size: The largest size.
        any_or_all: Whether one audio of a sample must pass, or each.
    """

    role = "audios"
    stats = {"audio_sizes": "list<int64>"}
    statistic = "audio_sizes"
