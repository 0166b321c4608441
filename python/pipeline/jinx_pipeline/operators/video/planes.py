"""The pixels of a decoded frame as arrays that can be changed, without converting colours."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_EIGHT_BIT = ("gray", "yuv420p", "yuv422p", "yuv440p", "yuv444p", "yuvj420p", "yuvj422p", "yuvj444p")


class Plane(NamedTuple):
    """The brightness or a colour difference of all pixels.

    Attributes:
        pixels: A view of the frame, uint8 of shape (height, width).
        across: The number of pixels in a row that share a value.
        down: The number of pixels in a column that share a value.
    """

    pixels: "npt.NDArray[np.uint8]"
    across: int
    down: int


def with_planes(frame: Any, *, upright: bool = False) -> tuple[Any, list[Plane]]:
    """A frame whose pixels can be changed, and its planes, brightness first.

    Frames of 8 bits per channel keep their format; others become `yuv444p`.

    Args:
        frame: A PyAV frame.
        upright: Whether the planes are turned as the frame is shown; they are views of the frame all the same.
    """
    quarters = frame.rotation // 90 % 4 if upright else 0
    if frame.format.name not in _EIGHT_BIT:
        frame = _timed(frame.reformat(format="yuv444p"), frame)
    frame.make_writable()
    planes: list[Plane] = []
    for plane in frame.planes:
        rows = np.frombuffer(plane, dtype=np.uint8).reshape(-1, plane.line_size)
        shares = -(-frame.width // plane.width), -(-frame.height // plane.height)
        across, down = shares[::-1] if quarters % 2 else shares
        planes.append(Plane(np.rot90(rows[: plane.height, : plane.width], quarters), across, down))
    return frame, planes


def black_of(frame: Any, number: int) -> int:
    """The value of black in a plane of a frame."""
    full_range = 2  # a value of FFmpeg's AVColorRange
    is_full = frame.color_range == full_range or frame.format.name.startswith(("yuvj", "gray"))
    return 128 if number else 0 if is_full else 16


def _timed(changed: Any, frame: Any) -> Any:
    changed.pts, changed.time_base = frame.pts, frame.time_base
    return changed
