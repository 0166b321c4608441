"""Images of every kind for tests, made on the spot."""

import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image


def photo(width: int = 64, height: int = 48, seed: int = 0) -> Image.Image:
    """Smooth colours and a few edges."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (5, 6, 3), dtype=np.uint8))
    image = small.resize((width, height), Image.Resampling.BICUBIC)
    left, top = int(rng.integers(width // 2)), int(rng.integers(height // 2))
    image.paste(tuple(rng.integers(0, 256, 3).tolist()), (left, top, left + width // 4, top + height // 4))
    return image


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """An image file."""
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def rotated_exif() -> bytes:
    """A JPEG whose EXIF data says that it is turned by 90 degrees."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(photo(), "JPEG", exif=exif.tobytes())


def deep() -> Image.Image:
    """16 bits of grey."""
    return Image.fromarray((np.arange(64 * 48, dtype=np.uint16) * 21).reshape(48, 64))


def animated(kind: str, frames: int = 3) -> bytes:
    """An animation with frames of 50, 100, ... ms."""
    images = [photo(seed=seed) for seed in range(frames)]
    durations = [50 * (number + 1) for number in range(frames)]
    return encoded(images[0], kind, save_all=True, append_images=images[1:], duration=durations, loop=2)


def with_alpha() -> Image.Image:
    """A red square with half-transparent edges on transparent green."""
    pixels = np.zeros((48, 64, 4), dtype=np.uint8)
    pixels[..., 1] = 255
    pixels[10:30, 10:40] = (255, 0, 0, 255)
    pixels[10, 10:40, 3] = 128
    return Image.fromarray(pixels)


def all_kinds() -> dict[str, bytes]:
    """An image of each kind by name."""
    return {
        "jpeg": encoded(photo(), "JPEG"),
        "grey jpeg": encoded(photo().convert("L"), "JPEG"),
        "cmyk jpeg": encoded(photo().convert("CMYK"), "JPEG"),
        "rotated jpeg": rotated_exif(),
        "png": encoded(photo()),
        "one bit": encoded(photo().convert("1")),
        "palette": encoded(photo().convert("P")),
        "transparent palette": encoded(photo().convert("P"), transparency=3),
        "alpha": encoded(with_alpha()),
        "grey alpha": encoded(with_alpha().convert("LA")),
        "16 bit": encoded(deep()),
        "float": encoded(Image.fromarray(np.linspace(0, 1, 64 * 48, dtype=np.float32).reshape(48, 64)), "TIFF"),
        "animated gif": animated("GIF"),
        "animated webp": animated("WEBP"),
        "animated png": animated("PNG"),
        "webp": encoded(photo(), "WEBP"),
        "bmp": encoded(photo(), "BMP"),
        "tiff": encoded(photo(), "TIFF", compression="tiff_lzw"),
        "ppm": encoded(photo(), "PPM"),
    }


def huge_header(width: int = 65_535, height: int = 65_535) -> bytes:
    """A small PNG that claims to be huge."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")
    )


def hostile() -> dict[str, bytes]:
    """What is no image, or not all of one, by name."""
    whole = encoded(photo(400, 300), "JPEG")
    return {
        "zero bytes": b"",
        "not an image": b"RIFF\x00\x00\x00\x00WAVEfmt ",
        "half a jpeg": whole[: len(whole) // 2],
        "half a png": encoded(photo(400, 300))[:500],
        "huge header": huge_header(),
        "only a header": huge_header(8, 8)[:40],
    }
