"""Filters by how far sounds stand out from the noise of an audio: the operator `audio_snr_filter`."""

import sys

import numpy as np

from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.audio.silence import levels
from jinx_pipeline.operators.audio.waveform import waveform_of
from jinx_pipeline.sample.media import Media

# Quieter than the noise of 16-bit audio.
_FLOOR = -100.0
_QUIET, _LOUD = 5, 95


@register("audio_snr_filter", modality="audio")
class AudioSNRFilter(MediaFilter):
    """Keeps samples whose audios have a signal-to-noise ratio within a range, in decibels, estimated from pauses.

    The level is measured every 10 ms. The noise is the level of the quietest 5 %, such as pauses of speech, and the
    signal that of the loudest 5 %. Noise alone has about 2 dB. Where a sound has no pause, use `audio_nmf_snr_filter`.

        create("audio_snr_filter", min_snr=10)

    Needs soundfile (the extra `audio`).

    Attributes:
        min_snr: The smallest ratio.
        max_snr: The largest ratio.
        any_or_all: Whether one audio of a sample must pass, or each.
    """

    min_snr: float = 10
    max_snr: float = sys.float_info.max

    role = "audios"
    batch_size = 16
    stats = {"audio_snr": "list<float64>"}
    bounds = {"audio_snr": ("min_snr", "max_snr")}

    def measure_medium(self, medium: Media) -> dict[str, float]:
        waveform = waveform_of(medium, self.name)
        frame_levels = np.maximum(levels(waveform.mono, waveform.rate), _FLOOR)
        if not len(frame_levels):
            return {"audio_snr": 0.0}
        quiet, loud = np.percentile(frame_levels, [_QUIET, _LOUD])
        return {"audio_snr": round(float(loud - quiet), 6)}
