"""Scales videos."""

from jinx_pipeline.operators.api.media_mapper import MadeMedium
from jinx_pipeline.operators.video.container import facts_of
from jinx_pipeline.operators.video.encode import transcoded
from jinx_pipeline.sample.media import Media


def scaled(medium: Media, operator: str, width: int, height: int) -> MadeMedium | None:
    """A video with frames of another size (bicubic, as FFmpeg's `scale`), and its audio; None if it has no frames.

    Args:
        medium: The video.
        operator: The name of the operator.
        width: The new width, as the video is shown.
        height: The new height, as the video is shown.
    """
    is_turned = facts_of(medium, operator).rotation % 180 != 0
    stored = (height, width) if is_turned else (width, height)
    return transcoded(
        medium,
        operator,
        lambda frame: () if frame is None else (frame.reformat(*stored, interpolation="BICUBIC"),),
    )
