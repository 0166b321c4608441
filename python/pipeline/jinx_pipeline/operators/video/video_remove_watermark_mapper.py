"""Removes watermarks from given regions of videos: the operator `video_remove_watermark_mapper`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from jinx_pipeline.operators.api.media_mapper import MadeMedium, MediaMapper
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.encode import transcoded
from jinx_pipeline.operators.video.frames import sampled_frames
from jinx_pipeline.operators.video.planes import Plane, with_planes
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media, MediaError

if TYPE_CHECKING:
    import numpy.typing as npt

    Mask = npt.NDArray[np.uint8]

_NUMBER = r"\s*(\d+(?:\.\d+)?)\s*"
_REGION = re.compile(rf"\s*[\[(]?{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}[\])]?\s*")
# Also repaint pixels around the watermark: they show some of it, and inpainting uses the surrounding pixels.
_GROWN = 5
_RADIUS = 3
_MARGIN = 16


@register("video_remove_watermark_mapper", modality="video")
class VideoRemoveWatermarkMapper(MediaMapper):
    """Finds the pixels of watermarks in given regions of videos, and paints over them from their surroundings.

        create("video_remove_watermark_mapper", roi_strings=["0,0,0.2,0.1"], detection_method="pixel_diversity")

    Frames are encoded again (H.264, CRF 18) and audio is copied. Videos are bytes in the samples, or files in
    `save_dir` or the run's `media_dir`. Regions refer to the frames as stored. Needs PyAV (the extra `video`) and
    OpenCV (the extra `opencv`).

    Attributes:
        roi_strings: The regions, as `"x1, y1, x2, y2"`, also in parentheses or brackets: left, top, right, bottom.
        roi_type: `"ratio"`: numbers are shares of width and height; `"pixel"`: pixels.
        roi_key: A column with the regions of each sample, to use instead of `roi_strings`.
        frame_num: The number of frames that are looked at.
        min_frame_threshold: For `"pixel_value"`: the number of frames in which a pixel must look like a watermark.
        detection_method: `"pixel_value"`: pixels of a watermark are brighter or darker than the rest of the region;
            `"pixel_diversity"`: they vary less from frame to frame.
        save_dir: A directory for the videos.
    """

    roi_strings: list[str] = field(default_factory=lambda: ["0,0,0.1,0.1"])
    roi_type: Literal["ratio", "pixel"] = "ratio"
    roi_key: str | None = None
    frame_num: Annotated[int, Range(1)] = 10
    min_frame_threshold: Annotated[int, Range(1)] = 7
    detection_method: Literal["pixel_value", "pixel_diversity"] = "pixel_value"

    def check(self) -> None:
        for region in self.roi_strings:
            if _REGION.fullmatch(region) is None:
                raise ParameterError(self.name, "roi_strings", f"{region!r} is not a region; write 'x1, y1, x2, y2'")
        if self.detection_method == "pixel_diversity" and self.frame_num == 1:
            raise ParameterError(self.name, "frame_num", "pixel_diversity compares at least two frames")

    @property
    def reads(self) -> tuple[str, ...]:
        return ("videos",) if self.roi_key is None else ("videos", self.roi_key)

    def edit(self, medium: Media, sample: Mapping[str, Any], rng: "np.random.Generator") -> MadeMedium | None:
        cv2 = require("cv2", extra="opencv", what=self.name)
        cv2.setNumThreads(1)
        frames = [
            with_planes(frame)[1][0].pixels.copy()
            for frame in sampled_frames(medium, self.name, "uniform", self.frame_num)
        ]
        if not frames:
            return None
        if len({frame.shape for frame in frames}) > 1:
            raise MediaError(f"{medium!r} changes the size of its frames, so that no region is the same in all")
        mask = self._mask(cv2, np.stack(frames), self._regions(sample))
        if not mask.any():
            return None

        def paint(frame: Any) -> Iterator[Any]:
            if frame is not None:
                editable, planes = with_planes(frame)
                for plane in planes:
                    _paint(cv2, plane, mask)
                yield editable

        return transcoded(medium, self.name, paint)

    def _regions(self, sample: Mapping[str, Any]) -> list[list[float]]:
        texts: Any = self.roi_strings if self.roi_key is None else sample.get(self.roi_key) or []
        found = [_REGION.fullmatch(text) for text in ([texts] if isinstance(texts, str) else texts)]
        if None in found:
            raise ValueError(f"{self.roi_key}: {texts!r} is not a region; write 'x1, y1, x2, y2'")
        return [[float(number) for number in match.groups()] for match in found if match]

    def _mask(self, cv2: Any, frames: "npt.NDArray[np.uint8]", regions: Sequence[Sequence[float]]) -> "Mask":
        """The mask of the watermark's pixels: 255 where they are, of shape (height, width)."""
        height, width = frames.shape[1:]
        mask: Mask = np.zeros((height, width), dtype=np.uint8)
        scale = (width, height) * 2 if self.roi_type == "ratio" else (1,) * 4
        for region in regions:
            left, top, right, bottom = (int(number * unit) for number, unit in zip(region, scale, strict=True))
            part = frames[:, top:bottom, left:right]
            if part.size:
                mask[top:bottom, left:right] |= self._marked(cv2, part)
        return cv2.dilate(mask, np.ones((_GROWN, _GROWN), np.uint8))

    def _marked(self, cv2: Any, frames: "npt.NDArray[np.uint8]") -> "Mask":
        if self.detection_method == "pixel_diversity":
            diversity = frames.std(axis=0)
            spread = float(np.ptp(diversity))
            scaled = (255 * (diversity - diversity.min()) / spread if spread else diversity * 0).astype(np.uint8)
            return ~_two_classes(cv2, scaled)
        votes = sum((_inner(_two_classes(cv2, frame)) > 0).astype(np.int64) for frame in frames)
        return np.where(votes >= self.min_frame_threshold, np.uint8(255), np.uint8(0))


def _two_classes(cv2: Any, picture: "npt.NDArray[np.uint8]") -> "Mask":
    """A mask that is 255 where a picture is brighter than Otsu's threshold."""
    return cv2.threshold(np.ascontiguousarray(picture), 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)[1]


def _inner(mask: "Mask") -> "Mask":
    """The mask or its inverse, whichever covers less of the upper and left edge: the watermark is inside its region."""
    on_edge = int((mask[0] > 0).sum() + (mask[:, 0] > 0).sum())
    return ~mask if on_edge * 2 > sum(mask.shape) else mask


def _paint(cv2: Any, plane: Plane, mask: "Mask") -> None:
    """Paint over the masked pixels of a plane, using only their surroundings."""
    small = cv2.dilate(mask, np.ones((plane.down, plane.across), np.uint8))[:: plane.down, :: plane.across]
    small = small[: plane.pixels.shape[0], : plane.pixels.shape[1]]
    rows, columns = (np.flatnonzero(small.any(axis=axis)) for axis in (1, 0))
    window = (
        slice(max(0, int(rows[0]) - _MARGIN), int(rows[-1]) + _MARGIN),
        slice(max(0, int(columns[0]) - _MARGIN), int(columns[-1]) + _MARGIN),
    )
    area, hidden = np.ascontiguousarray(plane.pixels[window]), np.ascontiguousarray(small[window])
    plane.pixels[window] = cv2.inpaint(area, hidden, _RADIUS, cv2.INPAINT_NS)
