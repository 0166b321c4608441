"""The depth of pictures, from depth estimation models."""

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    from PIL.Image import Image

DEPTH_ESTIMATOR: Final = Expected("a model that estimates depth", ("ForDepthEstimation",), ("images",))
"""Models such as Depth Anything, DPT and ZoeDepth."""


class _Input(NamedTuple):
    pixels: Any
    height: int
    width: int


def load_depth_estimator(model: Model, device: str) -> Pretrained:
    """A model that estimates depth, for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForDepthEstimation", "AutoImageProcessor")


def is_metric(loaded: Pretrained) -> bool:
    """Whether a model returns metres; other models return values that only compare points of one picture."""
    return getattr(loaded.network.config, "depth_estimation_type", "") == "metric"


def depths(loaded: Pretrained, pictures: "Sequence[Image]", threads: int | None) -> "Iterator[npt.NDArray[np.float32]]":
    """The depth of each picture at its full size, float32 of shape (height, width).

    Args:
        loaded: The model.
        pictures: The pictures.
        threads: Threads that scale pictures.
    """

    def prepare(picture: "Image") -> list[_Input]:
        return [_Input(loaded.pixels(picture), picture.height, picture.width)]

    def run(batch: list[_Input]) -> "Results[npt.NDArray[np.float32]]":
        import torch

        found: list[Any] = []
        with loaded.inference():
            for _, equal in groupby(batch, key=lambda picture: picture.pixels.shape):
                inputs = list(equal)
                output = loaded.network(
                    pixel_values=loaded.on_device(torch.stack([picture.pixels for picture in inputs]))
                )
                output.predicted_depth = output.predicted_depth.float()
                sizes = [(picture.height, picture.width) for picture in inputs]
                found += loaded.image_processor.post_process_depth_estimation(output, target_sizes=sizes)
        return lambda: [depth["predicted_depth"].cpu().numpy() for depth in found]

    rows: list[Any] = [None] * len(pictures)
    size = lambda picture: picture.pixels.shape[-2] * picture.pixels.shape[-1]  # noqa: E731 - too short for a function
    for number, (row,) in feed(pictures, prepare, run, limits=loaded.picture_limits, size=size, threads=threads or 1):
        rows[number] = row
    yield from rows
