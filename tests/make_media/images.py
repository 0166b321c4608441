"""Images with the properties that real collections have."""

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

ORIENTATION = 0x0112


def pixels(width: int = 64, height: int = 48, seed: int = 0) -> np.ndarray:
    """A smooth picture with an edge, uint8 of shape (height, width, 3)."""
    y, x = np.mgrid[:height, :width]
    picture = np.stack([x * 255 // width, y * 255 // height, (x + y + seed * 31) * 2 % 256], axis=2)
    picture[height // 4 : height // 2, width // 4 : width // 2] = (seed * 53 % 256, 200, 40)
    return picture.astype(np.uint8)


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    """An image as the bytes of a file."""
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def png(width: int = 64, height: int = 48, seed: int = 0) -> bytes:
    """A PNG in RGB."""
    return encoded(Image.fromarray(pixels(width, height, seed)), "PNG")


def jpeg(width: int = 64, height: int = 48, seed: int = 0) -> bytes:
    """A JPEG in RGB."""
    return encoded(Image.fromarray(pixels(width, height, seed)), "JPEG", quality=95)


def turned(orientation: int, width: int = 64, height: int = 48) -> bytes:
    """A JPEG with an EXIF orientation: 6 and 8 are shown with width and height exchanged."""
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return encoded(Image.fromarray(pixels(width, height)), "JPEG", exif=exif, quality=95)


def cmyk() -> bytes:
    """A JPEG in CMYK."""
    return encoded(Image.fromarray(pixels()).convert("CMYK"), "JPEG")


def grey_16_bit() -> bytes:
    """A PNG with one channel of 16 bits."""
    return encoded(Image.fromarray(pixels()[..., 0].astype(np.uint16) * 257), "PNG")


def palette() -> bytes:
    """A PNG with a palette, of which one colour is transparent."""
    return encoded(Image.fromarray(pixels()).quantize(16), "PNG", transparency=0)


def alpha() -> bytes:
    """A PNG whose left half is transparent."""
    image = Image.fromarray(pixels()).convert("RGBA")
    image.putalpha(Image.fromarray(np.where(np.arange(64) < 32, 0, 255).astype(np.uint8)[None].repeat(48, 0)))
    return encoded(image, "PNG")


def animated(frames: int = 4) -> bytes:
    """A GIF of several frames."""
    images = [Image.fromarray(pixels(seed=seed)) for seed in range(frames)]
    return encoded(images[0], "GIF", save_all=True, append_images=images[1:], duration=100)


def face(width: int = 192, height: int = 144, *, left: int = 96, top: int = 72, size: int = 50) -> np.ndarray:
    """A drawing that OpenCV's cascade takes for a face around a point, uint8 of shape (height, width, 3)."""
    image = Image.new("RGB", (width, height), (90, 110, 130))
    draw = ImageDraw.Draw(image)

    def ellipse(x: float, y: float, across: float, down: float, colour: tuple[int, int, int]) -> None:
        middle, centre = left + x * size, top + y * size
        draw.ellipse(
            (middle - across * size, centre - down * size, middle + across * size, centre + down * size), colour
        )

    ellipse(0, 0, 0.8, 1.1, (225, 185, 160))
    for side in (-1, 1):
        ellipse(side * 0.35, -0.28, 0.2, 0.1, (60, 40, 30))
        ellipse(side * 0.35, -0.48, 0.24, 0.05, (80, 55, 40))
    ellipse(0, 0.1, 0.1, 0.15, (200, 155, 130))
    ellipse(0, 0.53, 0.35, 0.08, (150, 60, 60))
    return np.asarray(image.filter(ImageFilter.GaussianBlur(1.5)))


def huge_header(width: int = 65_535, height: int = 65_535) -> bytes:
    """A PNG whose header declares more pixels than it has."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b"")]
    parts = [struct.pack(">I", len(body)) + kind + body + _crc(kind + body) for kind, body in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _crc(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))


GOOD: dict[str, Callable[[], bytes]] = {
    "png": png,
    "jpeg": jpeg,
    "turned": lambda: turned(6),
    "cmyk": cmyk,
    "16 bit": grey_16_bit,
    "palette": palette,
    "alpha": alpha,
    "animated": animated,
}
"""Images that every operator can process, by name."""

HOSTILE: dict[str, Callable[[], bytes]] = {
    "empty": bytes,
    "truncated": lambda: png()[:200],
    "not an image": lambda: b"GIF89a, they said",
    "huge header": huge_header,
}
"""Images that no operator can decode, by name."""
