"""Near-deduplication of images by perceptual hashes: the operator `image_near_deduplicator`."""

from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.dedup.near_hash import NearHashDeduplicator
from jinx_pipeline.operators.image.perceptual_hash import Method, perceptual_hash

if TYPE_CHECKING:
    import numpy.typing as npt


@register("image_near_deduplicator", modality="image")
class ImageNearDeduplicator(NearHashDeduplicator):
    """Removes samples whose image looks nearly the same as another's, by perceptual hashes that differ in few bits.

    Images whose 64-bit hashes differ in at most `hamming_distance` bits are duplicates, and so are all images that such
    pairs connect; the first sample of each cluster stays. The search is exact. Samples with no image or with several,
    and images of a single colour, stay; `image_deduplicator` compares several images.

        create("image_near_deduplicator", method="dhash", hamming_distance=2)

    Attributes:
        method: `"phash"`, `"dhash"`, `"whash"` or `"ahash"`; see `perceptual_hash`.
    """

    method: Method = "phash"

    batch_size = 64

    @property
    def reads(self) -> tuple[str, ...]:
        return ("images",)

    def hashes(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]":
        hashes = np.zeros(len(batch), np.uint64)
        missing = np.ones(len(batch), np.bool_)
        for row, images in enumerate(ctx.each(batch.media("images"))):
            if len(images) == 1:
                image = images[0].image()
                hashes[row] = int.from_bytes(perceptual_hash(image, self.method), "big")
                missing[row] = _is_plain(image)
        return hashes, missing


def _is_plain(image: "object") -> bool:
    """Whether an image has the same brightness everywhere, so that its hash says nothing."""
    low, high = image.convert("L").getextrema()  # pyright: ignore[reportAttributeAccessIssue]
    return low == high
