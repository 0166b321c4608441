"""Applies an FFmpeg filter to audios: the operator `audio_ffmpeg_wrapped_mapper`."""

from collections.abc import Mapping
from fractions import Fraction
from io import BytesIO
from itertools import chain
from typing import Any

import numpy as np

from jinx_pipeline.operators.api.filter_graph import FilterGraph, check_filter
from jinx_pipeline.operators.api.media_mapper import MadeMedium, MediaMapper
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media, MediaError

# The encoder, format and suffix for each source codec; other codecs become FLAC, without loss.
_WRITERS = {
    "aac": ("aac", "ipod", ".m4a"),
    "mp3": ("libmp3lame", "mp3", ".mp3"),
    "mp3float": ("libmp3lame", "mp3", ".mp3"),
    "opus": ("libopus", "ogg", ".ogg"),
    "pcm_s16le": ("pcm_s16le", "wav", ".wav"),
    "pcm_s24le": ("pcm_s24le", "wav", ".wav"),
    "pcm_s32le": ("pcm_s32le", "wav", ".wav"),
    "pcm_f32le": ("pcm_f32le", "wav", ".wav"),
    "pcm_u8": ("pcm_u8", "wav", ".wav"),
}
_OTHER = ("flac", "flac", ".flac")
# Sample formats of more than 16 bits, which become FLAC with 24 bits; those of lossy codecs (`fltp`) become 16 bits.
_DEEP = {"s32", "s32p", "s64", "s64p", "flt", "dbl", "dblp"}
# Floating-point sample formats.
_FLOATS = {"flt", "dbl"}


@register("audio_ffmpeg_wrapped_mapper", modality="audio")
class AudioFFmpegWrappedMapper(MediaMapper):
    """Applies one FFmpeg audio filter to each audio; without a filter, audios stay unchanged.

        create("audio_ffmpeg_wrapped_mapper", filter_name="atrim", filter_kwargs={"end": 6})

    The filter runs inside of this process; no program is started. The codec stays if FFmpeg can encode it; others
    become FLAC. Audios are bytes in the samples, or files in `save_dir` or the run's `media_dir`. Needs PyAV (the extra
    `video`).

    Attributes:
        filter_name: The name of the filter.
        filter_kwargs: Its options.
        save_dir: A directory for the filtered audios.
    """

    filter_name: str | None = None
    filter_kwargs: dict[str, Any] | None = None

    trust = "runs filters of FFmpeg, some of which open files"
    role = "audios"

    def resolve(self) -> None:
        check_filter(self.name, self.filter_name)

    def edit(self, medium: Media, sample: Mapping[str, Any], rng: np.random.Generator) -> MadeMedium | None:
        if self.filter_name is None:
            return None
        av = require("av", extra="video", what=self.name)
        graph = FilterGraph([(self.filter_name, self.filter_kwargs or {})])
        try:
            with medium.stream() as file, av.open(file, options={"protocol_whitelist": "none"}) as source:
                if not source.streams.audio:
                    raise MediaError(f"{medium!r} has no audio stream")
                return _filtered(av, medium, source, graph)
        except av.FFmpegError as error:
            raise MediaError(f"{medium!r} is not audio that FFmpeg can read: {error.strerror}") from error


def _filtered(av: Any, medium: Media, source: Any, graph: FilterGraph) -> MadeMedium | None:
    stream = source.streams.audio[0]
    stream.codec_context.thread_count = 1
    codec, format_, suffix = _WRITERS.get(stream.codec_context.name, _OTHER)
    if codec not in av.codecs_available:
        codec, format_, suffix = _OTHER
    # Filters get times relative to the start, as in FFmpeg's program: an MP3 starts with its encoder's delay.
    zero = Fraction(source.start_time or 0, 1_000_000)
    out = BytesIO()
    with av.open(out, "w", format=format_, options={"fflags": "+bitexact"}) as target:
        written: Any = None
        for frame in chain(source.decode(stream), [None]):
            if frame is not None and frame.format.name[:3] in _FLOATS and not np.isfinite(frame.to_ndarray()).all():
                raise MediaError(f"{medium!r} holds samples that are not finite numbers")
            if frame is not None and frame.pts is not None:
                frame.pts -= round(zero / frame.time_base)
            for filtered in graph.filtered(frame):
                if written is None:
                    written = target.add_stream(codec, rate=filtered.sample_rate, layout=filtered.layout.name)
                    written.codec_context.thread_count = 1
                    if codec == "flac" and stream.codec_context.format.name in _DEEP:
                        written.codec_context.format = "s32"
                    if stream.codec_context.bit_rate and codec != "flac" and not codec.startswith("pcm"):
                        written.bit_rate = stream.codec_context.bit_rate
                target.mux(written.encode(filtered))
        if written is None:
            return None
        target.mux(written.encode(None))
    return MadeMedium(out.getvalue(), suffix)
