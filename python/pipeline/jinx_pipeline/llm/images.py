"""Images as data URLs, within the limits of a service."""

from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from PIL.Image import Image

    from jinx_pipeline.sample.media import Media

_TYPES: Final = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp", "GIF": "image/gif"}
_QUALITIES: Final = (90, 75, 50)
_SMALLEST_SIDE: Final = 64


def data_url(medium: "Media", max_side: int, max_bytes: int) -> str:
    """An image as a data URL: its bytes if they fit the limits, otherwise a smaller JPEG.

    Args:
        medium: The image.
        max_side: The longest side in pixels.
        max_bytes: The size limit of the encoded image.

    Raises:
        MediaError: It is not an image.
        ValueError: It cannot be made small enough.
    """
    data, image = medium.bytes, medium.image()
    if image.format in _TYPES and len(data) <= max_bytes and max(image.size) <= max_side:
        return _url(_TYPES[image.format], data)
    try:
        return picture_url(image, max_side, max_bytes)
    except ValueError:
        raise ValueError(f"{medium!r} does not fit in {max_bytes:,} bytes") from None


def picture_url(image: "Image", max_side: int, max_bytes: int) -> str:
    """A picture as the data URL of a JPEG, reduced in size if necessary.

    Args:
        image: The picture, which is not changed.
        max_side: The longest side in pixels.
        max_bytes: The size limit of the encoded image.

    Raises:
        ValueError: It cannot be made small enough.
    """
    small: Any = image.convert("RGB")  # a copy: `image` itself is shared
    if small is image:
        small = image.copy()
    side = max_side
    while side >= _SMALLEST_SIDE:
        small.thumbnail((side, side))
        for quality in _QUALITIES:
            out = BytesIO()
            small.save(out, "JPEG", quality=quality)
            if out.tell() <= max_bytes:
                return _url("image/jpeg", out.getvalue())
        side //= 2
    raise ValueError(f"the picture does not fit in {max_bytes:,} bytes")


def _url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{b64encode(data).decode()}"
