"""Pairs of similar images with a caption each, in the columns that Data-Juicer's operators for pairs read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.sample.media import Media, media_values

if TYPE_CHECKING:
    from jinx_pipeline.models.pictures import Box

IMAGES: Final = ("image_path1", "image_path2")
CAPTIONS: Final = ("caption1", "caption2")
BOXES: Final = "__dj__bbox__"
"""The entry of `__dj__meta__` with boxes: the centre, width and height in pixels of the first image."""


class ImagePair(NamedTuple):
    """Two images; the second is scaled to the size of the first.

    Attributes:
        first: The first image.
        second: The second image.
        size: The width and height of the first image.
    """

    first: Media
    second: Media
    size: tuple[int, int]


def pairs_of(batch: Batch) -> list[ImagePair | None]:
    """The pair of each sample; None if an image is missing."""
    columns = [batch.column(name) for name in IMAGES]
    pairs: list[ImagePair | None] = []
    for values in zip(*columns, strict=True):
        found = [media_values(value, "images") for value in values]
        for name, media in zip(IMAGES, found, strict=True):
            if len(media) > 1:
                raise ValueError(f"{name} has {len(media)} images, not one")
        if all(found):
            first, second = (Media(media[0], batch.roles) for media in found)
            pairs.append(ImagePair(first, second, first.image().size))
        else:
            pairs.append(None)
    return pairs


def centred(box: "Box") -> list[float]:
    """The centre, width and height of a box."""
    left, top, right, bottom = map(float, box)
    return [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top]


def corners(value: Any) -> "Box":
    """Left, top, right and bottom of a box with centre, width and height.

    Raises:
        ValueError: It is not a box.
    """
    if not isinstance(value, Sequence) or len(value) != 4 or not all(isinstance(side, int | float) for side in value):  # noqa: PLR2004  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        raise ValueError(f"{BOXES} has {value!r:.60}, which is not a box: centre, width and height")
    middle, height_middle, width, height = map(float, value)  # pyright: ignore[reportUnknownArgumentType]
    return middle - width / 2, height_middle - height / 2, middle + width / 2, height_middle + height / 2
