"""Tags of pictures: those from a list that a CLIP model finds in them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline.models.clip import Clip

if TYPE_CHECKING:
    import numpy.typing as npt


def tag_vectors(clip: Clip, tags: Sequence[str], prompt: str) -> "npt.NDArray[np.float32]":
    """The vectors of tags within a prompt, float32 of shape (n, d)."""
    return clip.texts_once([prompt.format(tag) for tag in tags])


def tags_of(
    pictures: "npt.NDArray[np.float32]",
    vectors: "npt.NDArray[np.float32]",
    tags: Sequence[str],
    *,
    min_score: float,
    max_tags: int,
) -> list[str]:
    """The tags whose largest cosine with a picture is large enough, most similar first.

    Args:
        pictures: The vectors of the pictures of a medium.
        vectors: The vectors of the tags.
        tags: The tags.
        min_score: The smallest cosine.
        max_tags: The largest number of tags.
    """
    if not len(pictures):
        return []
    scores = (vectors @ pictures.T).max(axis=1)
    # Tags with equal scores keep their order in the list.
    order = np.argsort(-scores, kind="stable")[:max_tags]
    return [tags[int(number)] for number in order if scores[number] >= min_score]
