"""The base class of filters by the sizes of media files."""

import re
from typing import ClassVar

from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.sample.media import Media

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgtpe]?)(?:i?b)?\s*", re.IGNORECASE)
_POWERS = ["", "k", "m", "g", "t", "p", "e"]


class MediaSizeFilter(MediaFilter):
    """Keeps samples by the sizes of their media in bytes; no medium is read, except behind URLs.

    Sizes are numbers of bytes, or strings with a unit: `KB`, `KiB` and `K` are 1024 bytes, `MB` 1024 KB, and so on, as
    in Data-Juicer.

    Attributes:
        min_size: The smallest size.
        max_size: The largest size.
        any_or_all: Whether one medium of a sample must pass, or each.
    """

    min_size: int | str = "0"
    max_size: int | str = "1TB"

    statistic: ClassVar[str] = ""
    thresholds = ("any_or_all", "min_size", "max_size")

    def check(self) -> None:
        low, high = self.bound(self.statistic)
        if low > high:
            raise ParameterError(self.name, "min_size", f"min_size {self.min_size} is above max_size {self.max_size}")

    def bound(self, name: str) -> tuple[float, float]:
        return self._bytes("min_size"), self._bytes("max_size")

    def measure_medium(self, medium: Media) -> dict[str, float]:
        return {self.statistic: medium.size}

    def _bytes(self, parameter: str) -> int:
        size = getattr(self, parameter)
        match = _SIZE.fullmatch(str(size))
        if match is None:
            problem = f"{parameter} is {size!r}; write a number of bytes or, for instance, '10MB'"
            raise ParameterError(self.name, parameter, problem)
        number, unit = match.groups()
        return int(float(number) * 1024 ** _POWERS.index(unit.lower())) if unit else int(float(number))
