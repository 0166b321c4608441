"""Deduplication by perceptual image hashes: the operator `image_deduplicator`."""

from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.dedup.by_hash import HashDeduplicator
from jinx_pipeline.operators.image.perceptual_hash import Method, perceptual_hash

if TYPE_CHECKING:
    import numpy.typing as npt


@register("image_deduplicator", modality="image")
class ImageDeduplicator(HashDeduplicator):
    """Removes samples whose images have the same perceptual hashes, in order, as those of an earlier sample.

    Samples without images stay.

        create("image_deduplicator", method="dhash")

    Attributes:
        method: `"phash"`, `"dhash"`, `"whash"` or `"ahash"`; see `perceptual_hash`.
        consider_text: Samples are duplicates only if their texts are equal too.
    """

    method: Method = "phash"
    consider_text: bool = False

    batch_size = 64

    @property
    def reads(self) -> tuple[str, ...]:
        return ("images", "text") if self.consider_text else ("images",)

    def hashes(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_] | None]":
        hashes = [
            [perceptual_hash(image.image(), self.method).hex() for image in images]
            for images in ctx.each(batch.media("images"))
        ]
        keys = [" ".join(image_hashes) for image_hashes in hashes]
        if self.consider_text:
            keys = [f"{key} {text}" for key, text in zip(keys, batch.text.to_pylist(), strict=True)]
        missing = np.array([not image_hashes for image_hashes in hashes], dtype=np.bool_)
        return kernels.hash128(keys, threads=ctx.threads), missing
