"""The base class of operators that make a sample from each clip of a video."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from jinx_pipeline.operators.api.media_splitter import Clip, MediaSplitter
from jinx_pipeline.operators.video.clips import Cut, Span, cut
from jinx_pipeline.sample.media import Media


class ClipSplitter(MediaSplitter):
    """Makes a sample from each clip of the videos of a sample; see `MediaSplitter`.

    Each frame of a span is in its clip, once. Audio is copied.

    Attributes:
        cut: `"copy"` copies packets without loss, and moves each cut to the next key frame; `"exact"` encodes frames
            again (H.264, CRF 18); `"auto"` copies the clips that begin and end at key frames, and encodes the others.
    """

    cut: Cut = "auto"

    @abstractmethod
    def spans_of(self, medium: Media) -> Sequence[Span]:
        """The spans of the clips of a video, in the order of their starts."""

    def clips_of(self, medium: Media) -> Iterator[Clip]:
        return cut(medium, self.name, self.spans_of(medium), self.cut)
