"""Frames of a video: all, the key frames, or those at given times, decoded in bounded memory."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from jinx_pipeline.operators.video.container import facts_of, opened
from jinx_pipeline.operators.video.encode import FrameTimes
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    from PIL.Image import Image

Sampling = Literal["all_keyframes", "all_frames", "uniform"]
# The memory for sampled frames of a video that are kept for other operators.
_KEPT_BYTES = 16 << 20
_BYTES_PER_PIXEL = 1.5
_EDGE = 1e-6
# FFmpeg finds no packet after the last entries of an FLV's index, so try this many earlier entries.
_TRIES = 3
_TURNS = {90: "ROTATE_90", 180: "ROTATE_180", 270: "ROTATE_270"}


def sampled_frames(medium: Media, operator: str, method: Sampling, count: int) -> Iterator[Any]:
    """The sampled frames of a video as PyAV frames, in order. Few frames are kept for the next operator.

    Args:
        medium: The video.
        operator: The name of the operator.
        method: `"all_keyframes"`, `"all_frames"`, or `"uniform"`: `count` frames from the first to the last at equal
            distances, or the middle one.
        count: The number of frames for `"uniform"`.
    """
    facts = facts_of(medium, operator)
    is_kept = method == "uniform" and count * facts.width * facts.height * _BYTES_PER_PIXEL <= _KEPT_BYTES
    if is_kept:
        key = ("frames", method, count)
        yield from medium.fact(key, lambda medium: list(_decoded(medium, operator, method, count, facts.seconds)))
    else:
        yield from _decoded(medium, operator, method, count, facts.seconds)


def _decoded(medium: Media, operator: str, method: Sampling, count: int, seconds: float) -> Iterator[Any]:
    with opened(medium, operator) as container:
        if method == "uniform":
            yield from (frame for frame, _ in frames_at(container, uniform_times(0, seconds, count)))
        else:
            if method == "all_keyframes":
                container.streams.video[0].codec_context.skip_frame = "NONKEY"
            # Select frames here too, because some decoders do not skip any.
            yield from (frame for frame in container.decode(video=0) if method == "all_frames" or frame.key_frame)


def uniform_times(start: float, stop: float, count: int) -> list[float]:
    """The times of `count` frames at equal distances from first to last; for a single frame, the middle."""
    if count == 1:
        return [(start + stop) / 2]
    return [start + (stop - start) * number / (count - 1) for number in range(count)]


def frames_at(container: Any, times: Sequence[float]) -> Iterator[tuple[Any, float]]:
    """For each time, the first frame that is not earlier, or the video's last frame; no frame twice.

    It seeks to key frames where the container has an index, and does not decode frames that no other frame needs.

    Args:
        container: A PyAV container.
        times: Seconds from the first frame, ascending.

    Yields:
        Frames, each with its time in seconds from the first frame.
    """
    wanted = list(reversed(times))
    last: tuple[Any, float] | None = None
    for frame, time in _frames_to(container, wanted):
        if wanted and time >= wanted[-1] - _EDGE:
            while wanted and time >= wanted[-1] - _EDGE:
                wanted.pop()
            last = None
            yield frame, time
            if not wanted:
                return
        else:
            last = frame, time
    if wanted and last is not None:
        yield last


def _frames_to(container: Any, wanted: list[float]) -> Iterator[tuple[Any, float]]:
    """Decoded frames with their times, up to the last of `wanted`, which the caller shortens."""
    stream = container.streams.video[0]
    context, base = stream.codec_context, stream.time_base
    origin = Fraction(stream.start_time or 0) * base
    keys = [entry.timestamp for entry in stream.index_entries if entry.is_keyframe]
    times, packets, place = FrameTimes(stream), container.demux(stream), 0
    while wanted:
        target = int((origin + Fraction(wanted[-1])) / base)
        ahead = bisect_right(keys, target) - 1
        if ahead > 0 and keys[ahead] > place:  # the key frame before the target is further ahead
            place = keys[ahead]
            # The index contains decoding times, which may be earlier than the time at which the key frame is shown.
            packets = _packets_from(container, stream, [target, *keys[ahead::-1][:_TRIES]])
        packet = next(packets, None)
        if packet is None:
            return
        if packet.pts is not None:
            place = max(place, packet.pts)
            context.skip_frame = "NONREF" if packet.pts < target else "DEFAULT"
        for frame in packet.decode():
            yield frame, float(times.of(frame) - origin)


def _packets_from(container: Any, stream: Any, places: Sequence[int]) -> Iterator[Any]:
    """The packets from the key frame before a time on; for the first of the given times at which there are any."""
    for place in places:
        container.seek(place, stream=stream)
        packets = container.demux(stream)
        first = next(packets, None)
        if first is not None and first.size:
            return chain([first], packets)
    return iter(())


def upright(frame: Any) -> "Image":
    """A frame as a picture, turned as the container specifies."""
    from PIL.Image import Transpose, frombuffer

    # Takes half the time of `to_image`, which copies the pixels twice.
    plane = frame.reformat(format="rgb24").planes[0]
    picture = frombuffer("RGB", (frame.width, frame.height), plane, "raw", "RGB", plane.line_size, 1)
    turn = _TURNS.get(frame.rotation % 360)
    return picture if turn is None else picture.transpose(Transpose[turn])
