"""Exact deduplication of audios: the operator `audio_deduplicator`."""

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.audio.waveform import waveform_of
from jinx_pipeline.operators.dedup.by_hash import HashDeduplicator
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt


@register("audio_deduplicator", modality="audio")
class AudioDeduplicator(HashDeduplicator):
    """Removes samples whose audios have the same sound, in order, as those of an earlier sample.

    The decoded samples are compared, with 16 bits each, and the sample rate: names, metadata and lossless formats do
    not count. Samples without audios stay.

        create("audio_deduplicator")

    Needs soundfile (the extra `audio`).
    """

    batch_size = 16

    def hashes(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_] | None]":
        keys = [" ".join(map(self._digest_of_sound, audios)) for audios in ctx.each(batch.media("audios"))]
        return kernels.hash128(keys, threads=ctx.threads), np.array([not key for key in keys], dtype=np.bool_)

    def _digest_of_sound(self, medium: Media) -> str:
        waveform = waveform_of(medium, self.name)
        digest = hashlib.blake2b(f"{waveform.rate} {waveform.samples.shape[1]} ".encode(), digest_size=16)
        digest.update(np.rint(np.ascontiguousarray(waveform.samples) * 32767).astype("<i2").tobytes())
        return digest.hexdigest()
