"""Converts audios to one sample rate, channel and level: the operator `audio_normalize_mapper`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from jinx_pipeline.operators.api.media_mapper import MadeMedium, MediaMapper
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.audio.waveform import encoded, resampled, waveform_of
from jinx_pipeline.sample.media import Media


@register("audio_normalize_mapper", modality="audio")
class AudioNormalizeMapper(MediaMapper):
    """Converts audios to one sample rate, one channel and one level.

        create("audio_normalize_mapper", sample_rate=16_000, level=-23)

    A silent audio stays silent. Audios are bytes in the samples, or files in `save_dir` or the run's `media_dir`. Needs
    soundfile (the extra `audio`), and PyAV (the extra `video`) for another sample rate.

    Attributes:
        sample_rate: Samples per second; None: that of each audio.
        mono: Whether channels are averaged.
        level: The level in decibels below full scale; None: that of each audio.
        measure: What has this level: the root mean square (`"rms"`) or the largest sample (`"peak"`). With `"rms"`, an
            audio whose peaks would be cut is only as loud as they allow.
        format: The format of the files: `"FLAC"` or `"WAV"`, both without loss.
        save_dir: A directory for the audios.
    """

    sample_rate: Annotated[int, Range(1000, 384_000)] | None = 16_000
    mono: bool = True
    level: Annotated[float, Range(-100, 0)] | None = -23.0
    measure: Literal["rms", "peak"] = "rms"
    format: Literal["FLAC", "WAV"] = "FLAC"

    role = "audios"

    def edit(self, medium: Media, sample: Mapping[str, Any], rng: "np.random.Generator") -> MadeMedium | None:
        waveform = waveform_of(medium, self.name)
        samples = waveform.mono[:, None] if self.mono else waveform.samples
        rate = self.sample_rate or waveform.rate
        if rate != waveform.rate:
            samples = resampled(samples, waveform.rate, rate, self.name)
        peak = float(np.abs(samples).max(initial=0))
        if self.level is not None and peak > 0:
            power = float(np.square(samples, dtype=np.float64).mean())
            now = peak if self.measure == "peak" else np.sqrt(power)
            samples = samples * np.float32(min(10 ** (self.level / 20) / now, 1 / peak))
        return MadeMedium(encoded(samples, rate, self.format), f".{self.format.lower()}")
