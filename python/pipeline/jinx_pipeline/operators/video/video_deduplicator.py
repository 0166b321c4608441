"""Exact deduplication of videos: the operator `video_deduplicator`."""

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.dedup.by_hash import HashDeduplicator
from jinx_pipeline.operators.video.container import opened
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt


@register("video_deduplicator", modality="video")
class VideoDeduplicator(HashDeduplicator):
    """Removes samples whose videos have the same frames, in order, as those of an earlier sample.

    The encoded pictures are compared: names, metadata, sound and cover do not count, and nothing is decoded. Samples
    without videos stay. (For Data-Juicer, two videos with the pictures `ab` and `c` equal two with `a` and `bc`.)

        create("video_deduplicator", consider_text=True)

    Needs PyAV (the extra `video`).

    Attributes:
        consider_text: Samples are duplicates only if their texts are equal too.
    """

    consider_text: bool = False

    batch_size = 16

    @property
    def reads(self) -> tuple[str, ...]:
        return ("videos", "text") if self.consider_text else ("videos",)

    def hashes(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_] | None]":
        digests = [[self._digest_of_pictures(video) for video in videos] for videos in ctx.each(batch.media("videos"))]
        keys = [" ".join(video_digests) for video_digests in digests]
        if self.consider_text:
            keys = [f"{key} {text}" for key, text in zip(keys, batch.text.to_pylist(), strict=True)]
        missing = np.array([not video_digests for video_digests in digests], dtype=np.bool_)
        return kernels.hash128(keys, threads=ctx.threads), missing

    def _digest_of_pictures(self, medium: Media) -> str:
        digest = hashlib.blake2b(digest_size=16)
        with opened(medium, self.name) as container:
            for packet in container.demux(container.streams.video):
                digest.update(packet)
        return digest.hexdigest()
