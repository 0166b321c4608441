"""The rows of charts: sequences with the tokens and images of their samples."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jinx._pack.batching_methods import Batching
from jinx._pack.sizes import IMAGES, TOKENS, Sizes
from jinx._results import Result

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

IMAGE_TOKENS = "num_image_tokens"


@dataclass(frozen=True, slots=True)
class Row(Result):
    """A sequence of a batch.

    Attributes:
        width: The tokens of the sequence, including padding.
        samples: The positions of its samples.
        tokens: The tokens of each sample.
        image_tokens: The image tokens of each sample.
        images: The images of each sample.
    """

    width: int
    samples: list[int]
    tokens: list[int]
    image_tokens: list[int]
    images: list[int]


def rows_of(
    batching: Batching, sizes: Sizes, positions: "npt.NDArray[np.int64] | None", tokens_per_image: int
) -> list[Row]:
    """The rows of sequences.

    Args:
        batching: Samples in sequences.
        sizes: The sizes of each sample.
        positions: The position to show for each sample; None: its own position.
        tokens_per_image: The tokens of an image, if there is no size `num_image_tokens`.
    """
    import numpy as np

    tokens = sizes.columns[TOKENS].astype(np.int64)
    images = sizes.columns.get(IMAGES, np.zeros_like(tokens)).astype(np.int64)
    of_images = sizes.columns.get(IMAGE_TOKENS, images * tokens_per_image).astype(np.int64)
    of_images = np.minimum(of_images, tokens)
    rows: list[Row] = []
    for row, width in enumerate(batching.widths.tolist()):
        samples = batching.positions[batching.offsets[row] : batching.offsets[row + 1]]
        members = (
            samples if positions is None else positions[samples],
            tokens[samples],
            of_images[samples],
            images[samples],
        )
        rows.append(Row(width, *(member.tolist() for member in members)))
    return rows
