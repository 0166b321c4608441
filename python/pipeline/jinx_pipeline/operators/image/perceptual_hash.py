"""Perceptual hashes of images: 64 bits, few of which change when an image is scaled or compressed."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    from PIL.Image import Image

Method = Literal["phash", "dhash", "whash", "ahash"]
_SIDE = 8
_DCT_SIDE = 32
_WAVELET_SIDE = 64


def perceptual_hash(image: "Image", method: Method) -> bytes:
    """The hash of an image, 8 bytes.

    Args:
        image: The image.
        method: `"phash"`: low frequencies of a cosine transform; `"dhash"`: whether the image gets brighter from left
            to right; `"whash"`: the coarsest part of a Haar wavelet; `"ahash"`: which areas are brighter than the
            average.
    """
    return np.packbits(_BITS[method](image).reshape(-1)).tobytes()


def _grey(image: "Image", width: int, height: int) -> "npt.NDArray[np.float64]":
    from PIL.Image import Resampling

    return np.asarray(image.convert("L").resize((width, height), Resampling.LANCZOS), dtype=np.float64)


def _phash(image: "Image") -> Any:
    cosines = _cosines()
    low = (cosines @ _grey(image, _DCT_SIDE, _DCT_SIDE) @ cosines.T)[:_SIDE, :_SIDE]
    return low > np.median(low.reshape(-1)[1:])  # without the first coefficient, which is the mean brightness


def _dhash(image: "Image") -> Any:
    pixels = _grey(image, _SIDE + 1, _SIDE)
    return pixels[:, 1:] > pixels[:, :-1]


def _whash(image: "Image") -> Any:
    block = _WAVELET_SIDE // _SIDE
    pixels = _grey(image, _WAVELET_SIDE, _WAVELET_SIDE)
    # Three steps of the Haar transform have this result.
    coarse = pixels.reshape(_SIDE, block, _SIDE, block).mean(axis=(1, 3))
    return coarse > np.median(coarse)


def _ahash(image: "Image") -> Any:
    pixels = _grey(image, _SIDE, _SIDE)
    return pixels > pixels.mean()


@lru_cache(maxsize=1)
def _cosines() -> "npt.NDArray[np.float64]":
    """The matrix of the DCT-II."""
    index = np.arange(_DCT_SIDE)
    return np.cos(np.pi / _DCT_SIDE * (index[None, :] + 0.5) * index[:, None])


_BITS: dict[str, "Callable[[Image], Any]"] = {"phash": _phash, "dhash": _dhash, "whash": _whash, "ahash": _ahash}
