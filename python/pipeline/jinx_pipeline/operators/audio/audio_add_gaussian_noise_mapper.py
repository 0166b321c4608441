"""Adds noise to audios: the operator `audio_add_gaussian_noise_mapper`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jinx_pipeline.operators.api.media_mapper import MadeMedium, MediaMapper
from jinx_pipeline.operators.api.parameters import ParameterError, Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.audio.waveform import encoded, waveform_of
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media


@register("audio_add_gaussian_noise_mapper", modality="audio")
class AudioAddGaussianNoiseMapper(MediaMapper):
    """Adds Gaussian noise of random amplitude to each audio with some probability; depends on the seed and the id.

    The format, encoding and sample rate of a file stay; formats that soundfile cannot write become WAV.

        create("audio_add_gaussian_noise_mapper", p=1, max_amplitude=0.01)

    Audios are bytes in the samples, or files in `save_dir` or the run's `media_dir`. Needs soundfile (the extra
    `audio`).

    Attributes:
        min_amplitude: The smallest standard deviation of the noise; samples lie between -1 and 1.
        max_amplitude: The largest standard deviation.
        p: The probability.
        save_dir: A directory for the audios.
    """

    min_amplitude: Share = 0.001
    max_amplitude: Share = 0.015
    p: Share = 0.5

    role = "audios"

    def check(self) -> None:
        if self.min_amplitude >= self.max_amplitude:
            problem = f"min_amplitude {self.min_amplitude} is not below max_amplitude {self.max_amplitude}"
            raise ParameterError(self.name, "min_amplitude", problem)

    def edit(self, medium: Media, sample: Mapping[str, Any], rng: "np.random.Generator") -> MadeMedium | None:
        if rng.random() >= self.p:
            return None
        waveform = waveform_of(medium, self.name)
        amplitude = rng.uniform(self.min_amplitude, self.max_amplitude)
        noise = rng.standard_normal(waveform.samples.shape, dtype=np.float32)
        format_, subtype = waveform.format or "WAV", waveform.subtype
        noisy = (waveform.samples + amplitude * noise).astype(np.float32)
        soundfile = require("soundfile", extra="audio", what="Writing audio")
        if soundfile.check_format(format_, subtype):
            try:
                return MadeMedium(encoded(noisy, waveform.rate, format_, subtype), f".{format_.lower()}")
            except soundfile.LibsndfileError:  # MPEG layer II is listed as writable, but is not
                pass
        return MadeMedium(encoded(noisy, waveform.rate, "WAV"), ".wav")
