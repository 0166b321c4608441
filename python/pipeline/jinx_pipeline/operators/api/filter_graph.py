"""Filters of FFmpeg that run in this process."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import MediaError


def check_filter(operator: str, name: str | None) -> None:
    """Refuse a name that is not a filter of FFmpeg, or a filter without exactly one input and one output.

    Raises:
        ParameterError: There is no such filter.
    """
    if name is None:
        return
    av = require("av", extra="video", what=operator)
    if name not in av.filter.filters_available:
        raise ParameterError(operator, "filter_name", f"FFmpeg has no filter {name!r}")
    found = av.filter.Filter(name)
    if (len(found.inputs), len(found.outputs)) != (1, 1):
        raise ParameterError(operator, "filter_name", f"the filter {name!r} does not have one input and one output")


class FilterGraph:
    """A chain of filters for the frames of one stream, created when the first frame arrives.

    Args:
        filters: The names of the filters, each with its options.
    """

    def __init__(self, filters: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self._filters = filters
        self._graph: Any = None

    def filtered(self, frame: Any) -> Iterator[Any]:
        """The frames that come out of the chain after a frame; after None, the remaining ones.

        Raises:
            MediaError: FFmpeg refuses the options or the frame.
        """
        av = require("av", extra="video", what="A filter of FFmpeg")
        if self._graph is None and frame is None:
            return
        try:
            if self._graph is None:
                self._graph = self._made(av, frame)
            self._graph.push(frame)
        except (av.FFmpegError, ValueError, OSError) as error:
            raise MediaError(f"the filter {self._filters[-1][0]} failed: {error}") from error
        while True:
            try:
                yield self._graph.pull()
            except (av.BlockingIOError, av.EOFError):
                return

    def _made(self, av: Any, frame: Any) -> Any:
        graph = av.filter.Graph()
        graph.threads = 1
        if isinstance(frame, av.VideoFrame):
            source = graph.add_buffer(
                width=frame.width, height=frame.height, format=frame.format, time_base=frame.time_base
            )
            sink = graph.add("buffersink")
        else:
            source = graph.add_abuffer(
                sample_rate=frame.sample_rate, format=frame.format, layout=frame.layout.name, time_base=frame.time_base
            )
            sink = graph.add("abuffersink")
        inner = [
            graph.add(name, **{key: str(value) for key, value in options.items()}) for name, options in self._filters
        ]
        graph.link_nodes(source, *inner, sink)
        graph.configure()
        return graph
