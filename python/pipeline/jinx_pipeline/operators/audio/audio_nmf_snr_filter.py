"""Filters by the signal-to-noise ratio of audios: the operator `audio_nmf_snr_filter`."""

import sys
from typing import Annotated

from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.audio.nmf import signal_to_noise
from jinx_pipeline.operators.audio.waveform import waveform_of
from jinx_pipeline.sample.media import Media


@register("audio_nmf_snr_filter", modality="audio")
class AudioNMFSNRFilter(MediaFilter):
    """Keeps samples whose audios have a signal-to-noise ratio within a range, in decibels.

    The spectrogram of the mean of the channels is divided into two parts by non-negative matrix factorization (NMF);
    the ratio is that of their powers. It is an estimate: which part counts as noise depends on seeded random numbers.

        create("audio_nmf_snr_filter", min_snr=10)

    Needs soundfile (the extra `audio`).

    Attributes:
        min_snr: The smallest ratio.
        max_snr: The largest ratio.
        nmf_iter_num: The largest number of iterations of NMF; it stops earlier when little changes.
        any_or_all: Whether one audio of a sample must pass, or each.
    """

    min_snr: float = 0
    max_snr: float = sys.float_info.max
    nmf_iter_num: Annotated[int, Range(1)] = 500

    role = "audios"
    batch_size = 16
    stats = {"audio_nmf_snr": "list<float64>"}
    bounds = {"audio_nmf_snr": ("min_snr", "max_snr")}

    def measure_medium(self, medium: Media) -> dict[str, float]:
        return {"audio_nmf_snr": signal_to_noise(waveform_of(medium, self.name).mono, self.nmf_iter_num)}
