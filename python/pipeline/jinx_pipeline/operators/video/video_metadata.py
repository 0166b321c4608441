"""Operators that add what they find in videos to `__dj__meta__`."""

from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.api.operator_kinds import Mapper


class VideoMetadataMapper(Mapper):
    """Adds what is found in the videos of each sample to `__dj__meta__`."""

    pure = False  # rounding differs between devices, and results between versions of OpenCV

    @property
    def reads(self) -> tuple[str, ...]:
        return ("videos", META)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)
