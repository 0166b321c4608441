"""Facts in the header of a video."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """Facts in the header of a video.

    Attributes:
        width: The width as stored, in pixels.
        height: The height as stored, in pixels.
        rotation: The degrees by which it is turned counterclockwise for display: 0, 90, 180 or 270. It is read of MP4
            and QuickTime files, and 0 for others.
        pixel_ratio: The ratio of width to height of a pixel; of a plain MP4, as the container says.
        seconds: The duration of the picture.
        rate: The average number of frames per second; None: unknown.
        frames: The number of frames; 0: unknown.
        codec: The codec of the picture, as FFmpeg calls it.
    """

    width: int
    height: int
    rotation: int
    pixel_ratio: Fraction
    seconds: float
    rate: Fraction | None
    frames: int
    codec: str

    @property
    def shown_size(self) -> tuple[int, int]:
        """Width and height of the video as shown, after its rotation."""
        return (self.height, self.width) if self.rotation % 180 else (self.width, self.height)

    @property
    def shown_ratio(self) -> float:
        """The ratio of width to height of the video as shown, after rotation, and with the shape of its pixels."""
        ratio = Fraction(self.width, self.height) * self.pixel_ratio
        return float(1 / ratio if self.rotation % 180 else ratio)
