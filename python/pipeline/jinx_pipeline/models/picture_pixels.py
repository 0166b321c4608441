"""The pixels of pictures as models expect them; the image processors of transformers would need torchvision."""

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.api.model import Model

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image

_FILES = ("video_preprocessor_config.json", "preprocessor_config.json", "processor_config.json")


def normalized(
    picture: "Image", size: tuple[int, int], mean: Sequence[float], std: Sequence[float]
) -> "npt.NDArray[np.float32]":
    """A picture, scaled and normalized, float32 of shape (3, height, width), in RGB order.

    Args:
        picture: The picture.
        size: The width and height to which it is scaled.
        mean: What is subtracted from each channel, of values from 0 to 1.
        std: What each channel is divided by.
    """
    from PIL.Image import Resampling

    scaled = picture.convert("RGB")
    if scaled.size != size:
        scaled = scaled.resize(size, Resampling.BILINEAR)
    values = np.asarray(scaled, np.float32) / np.float32(255)
    values = (values - np.array(mean, np.float32)) / np.array(std, np.float32)
    return np.ascontiguousarray(values.transpose(2, 0, 1), np.float32)


def processor_facts(model: Model) -> dict[str, Any]:
    """What the files of a model state about its inputs; empty if nothing."""
    return _facts(model.directory or Path(model.path))


@lru_cache(maxsize=64)
def _facts(directory: Path) -> dict[str, Any]:
    for name in _FILES:
        with suppress(OSError, ValueError):
            found = json.loads((directory / name).read_text("utf-8"))
            if isinstance(found, dict):
                return found  # pyright: ignore[reportUnknownVariableType]
    return {}
