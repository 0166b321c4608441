"""Edits images and encodes them again, in their format and with their metadata."""

from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from jinx_pipeline.operators.api.media_mapper import MadeMedium
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media, MediaError

if TYPE_CHECKING:
    from PIL.Image import Image

# The options for writing each image format; other formats become PNG.
_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "JPEG": {"quality": 95, "subsampling": 0},
    "PNG": {},
    "WEBP": {"quality": 95},
    "GIF": {"disposal": 2},
    "TIFF": {},
    "BMP": {},
}
_SUFFIXES: Final = {"JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp", "GIF": ".gif", "TIFF": ".tif", "BMP": ".bmp"}
_ANIMATED: Final = frozenset({"PNG", "WEBP", "GIF", "TIFF"})
# An animation may have at most this many times the pixels that Pillow allows for one image, in all frames together.
_MOST_PIXELS: Final = 4


def edited(medium: Media, edit: Callable[["Image"], "Image"]) -> MadeMedium:
    """An image after an edit of each of its frames.

    It keeps its format (JPEG with quality 95 and full colour resolution; WebP with quality 95), its EXIF data with the
    orientation, its colour profile, and the times of frames. Images of formats that are not written become PNG.

    Args:
        medium: The image.
        edit: Receives a frame and returns the edited one.

    Raises:
        MediaError: It is not an image, or its frames have too many pixels.
    """
    medium.image()  # raises for data that is not an image
    pil = require("PIL.Image", extra="image", what="Editing images")
    with pil.open(BytesIO(medium.bytes)) as image:
        kind = image.format if image.format in _OPTIONS else "PNG"
        try:
            frames = _frames(image, kind, edit)
            out = BytesIO()
            frames[0].save(out, kind, **_OPTIONS[kind], **_metadata(image, kind, frames))
        except (OSError, SyntaxError, EOFError) as error:
            raise MediaError(f"{medium!r} cannot be decoded to its end: {error}") from error
    return MadeMedium(out.getvalue(), _SUFFIXES[kind])


def _frames(image: Any, kind: str, edit: Callable[["Image"], "Image"]) -> "list[Image]":
    if not _is_animated(image, kind):
        return [edit(image)]
    sequence = require("PIL.ImageSequence", extra="image", what="Editing images")
    pil = require("PIL.Image", extra="image", what="Editing images")
    limit = pil.MAX_IMAGE_PIXELS
    if limit and image.n_frames * image.width * image.height > _MOST_PIXELS * limit:
        raise MediaError(f"{image.n_frames:,} frames of {image.width} x {image.height} pixels are too many to edit")
    return [edit(frame.copy()) for frame in sequence.Iterator(image)]


def _is_animated(image: Any, kind: str) -> bool:
    return kind in _ANIMATED and getattr(image, "n_frames", 1) > 1


def _metadata(image: Any, kind: str, frames: "list[Image]") -> dict[str, Any]:
    """The options for Pillow's `save` that keep metadata."""
    info = image.info
    kept = {"icc_profile": info.get("icc_profile"), "exif": info.get("exif"), "dpi": info.get("dpi")}
    options = {name: value for name, value in kept.items() if value and not (name == "dpi" and kind == "WEBP")}
    if len(frames) > 1:
        durations = [frame.info.get("duration", 0) for frame in frames]
        options |= {"save_all": True, "append_images": frames[1:], "duration": durations, "loop": info.get("loop", 0)}
    return options
