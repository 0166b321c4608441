"""Splits audios at silences: the operator `audio_split_by_silence_mapper`."""

from collections.abc import Iterator
from typing import Annotated, Literal

from jinx_pipeline.operators.api.media_splitter import Clip, MediaSplitter
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.audio.silence import FRAME_SECONDS, divided, levels, loud_spans
from jinx_pipeline.operators.audio.waveform import encoded, waveform_of
from jinx_pipeline.sample.media import Media


@register("audio_split_by_silence_mapper", modality="audio")
class AudioSplitBySilenceMapper(MediaSplitter):
    """Cuts audios at silences and makes a sample from each part that is not silent.

    The level is that of frames of 10 ms, of the mean of the channels. A part that is too long is cut at its quietest
    frames. A silent audio makes no sample.

        create("audio_split_by_silence_mapper", silence_db=-45, max_seconds=30)

    The column `clip_field` says where a part comes from. Parts are bytes in the samples, or files in `save_dir` or the
    run's `media_dir`. Needs soundfile (the extra `audio`).

    Attributes:
        silence_db: Frames below this level, in decibels below full scale, are silent.
        min_silence_seconds: A silence of at least this length divides an audio.
        padding_seconds: Seconds of silence that stay at each end of a part.
        min_seconds: Parts that are shorter make no sample.
        max_seconds: Parts that are longer are cut; None to keep them whole.
        format: The format of the files: `"FLAC"` or `"WAV"`, both without loss.
    """

    silence_db: Annotated[float, Range(-120, 0)] = -40.0
    min_silence_seconds: Annotated[float, Range(FRAME_SECONDS)] = 0.3
    padding_seconds: Annotated[float, Range(0)] = 0.1
    min_seconds: Annotated[float, Range(0)] = 0.5
    max_seconds: Annotated[float, Range(0.1)] | None = 30.0
    format: Literal["FLAC", "WAV"] = "FLAC"

    role = "audios"

    def check(self) -> None:
        if self.max_seconds is not None and self.min_seconds > self.max_seconds:
            problem = f"min_seconds is {self.min_seconds:g}; it is at most max_seconds, {self.max_seconds:g}"
            raise ParameterError(self.name, "min_seconds", problem)

    def clips_of(self, medium: Media) -> Iterator[Clip]:
        waveform = waveform_of(medium, self.name)
        frame_levels = levels(waveform.mono, waveform.rate)
        spans = loud_spans(
            frame_levels, self.silence_db, _frames(self.min_silence_seconds), _frames(self.padding_seconds)
        )
        if self.max_seconds is not None:
            spans = [part for span in spans for part in divided(frame_levels, span, _frames(self.max_seconds))]
        length = max(round(waveform.rate * FRAME_SECONDS), 1)
        for first, last in spans:
            samples = waveform.samples[first * length : last * length]
            start, seconds = first * length / waveform.rate, len(samples) / waveform.rate
            if seconds >= self.min_seconds:
                data = encoded(samples, waveform.rate, self.format)
                yield Clip(start, start + seconds, data, f".{self.format.lower()}")


def _frames(seconds: float) -> int:
    return max(round(seconds / FRAME_SECONDS), 0)
