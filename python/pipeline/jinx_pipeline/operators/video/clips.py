"""Cuts a video into clips at exact frames, by copying or by encoding."""

from array import array
from collections.abc import Iterator, Sequence
from fractions import Fraction
from heapq import merge
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from jinx_pipeline.operators.api.media_splitter import Clip
from jinx_pipeline.operators.video.container import facts_of, opened
from jinx_pipeline.operators.video.encode import VideoWriter, can_be_copied, codec_of, first_audio
from jinx_pipeline.sample.media import Media, MediaError

if TYPE_CHECKING:
    import numpy.typing as npt

Cut = Literal["auto", "copy", "exact"]
_EDGE = 1e-6
# Audio packets may come this many seconds after the video packets of the same time.
_SLACK_SECONDS = 10


class Span(NamedTuple):
    """A time span from `start` up to but not including `stop`, in seconds from the first frame."""

    start: float
    stop: float


class Timeline:
    """The times of a video's frames, from its packets; no frame is decoded.

    Attributes:
        times: The times of all frames in seconds from the first, ascending, float64 of shape (n,).
        keys: The numbers of the frames at which a clip can begin without encoding, ascending.
        end: The time at which the last frame ends.
        can_copy: Whether packets can be copied: each has a time of its own, none is hidden by an edit list, and a clip
            can hold their codec.
        ticks: The times as integers, in units of the container, ascending.
        delay: So many units before its place in this order, a packet is decoded.
    """

    def __init__(self, container: Any) -> None:
        stream = container.streams.video[0]
        pts, keys, is_plain = array("q"), array("q"), True
        last_duration = 0
        for packet in container.demux(stream):
            if packet.size == 0:
                continue
            if packet.is_discard:  # hidden by an edit list: the first frame shown has time 0
                is_plain = False
                continue
            if packet.pts is None:
                is_plain = False
                pts.append(len(pts))
                continue
            pts.append(packet.pts)
            last_duration = packet.duration or last_duration
            if keys and packet.pts < keys[-1]:
                keys.pop()  # an open GOP: frames after the key frame depend on frames before it
            if packet.is_keyframe:
                keys.append(packet.pts)
        if not pts:
            raise MediaError("the video has no frame")
        has_times = is_plain or any(packet_time != number for number, packet_time in enumerate(pts))
        self._base = stream.time_base if has_times else 1 / (stream.average_rate or Fraction(25))
        decoded = np.frombuffer(pts, dtype=np.int64)
        self.ticks: npt.NDArray[np.int64] = np.unique(decoded)
        is_plain = is_plain and len(self.ticks) == len(decoded) and can_be_copied(codec_of(stream))
        self.delay = int((self.ticks - decoded).max()) if is_plain else 0
        self.origin = int(self.ticks[0]) * self._base
        self.times = (self.ticks - self.ticks[0]) * float(self._base)
        self.keys = np.searchsorted(self.ticks, np.frombuffer(keys, dtype=np.int64))
        self.can_copy = is_plain and len(self.keys) > 0 and self.keys[0] == 0
        step = last_duration * float(self._base) or float(1 / (stream.average_rate or 25))
        self.end = float(self.times[-1]) + step

    def __len__(self) -> int:
        return len(self.ticks)

    def time(self, number: int) -> Fraction:
        """The exact time of a frame in seconds, by the container's clock."""
        return int(self.ticks[number]) * self._base


def spans(duration: float, length: float, overlap: float, min_last: float) -> list[Span]:
    """The spans of clips of a fixed length.

    Args:
        duration: The duration of the video in seconds.
        length: The length of a clip in seconds.
        overlap: Seconds that a clip shares with the next.
        min_last: A last clip shorter than this is left out.
    """
    result: list[Span] = []
    number = 0
    while (start := number * (length - overlap)) < duration - _EDGE:
        stop = min(start + length, duration)
        is_last = start + length >= duration - _EDGE
        if not is_last or stop - start >= min_last - _EDGE:
            result.append(Span(start, duration + length if is_last else start + length))
        if is_last:
            break
        number += 1
    return result


def timeline_of(medium: Media, operator: str) -> Timeline:
    """The times of a video's frames; they are read once."""

    def read(medium: Media) -> Timeline:
        with opened(medium, operator) as container:
            return Timeline(container)

    return medium.fact("timeline", read)


def cut(medium: Media, operator: str, clip_spans: Sequence[Span], how: Cut = "auto") -> Iterator[Clip]:
    """The clips of a video, one after another; spans without frames are left out.

    Each frame whose time lies in a span is in its clip, once. Audio packets are copied, and belong to the clip in which
    they begin.

    Args:
        medium: The video.
        operator: The name of the operator.
        clip_spans: The spans, in the order of their starts.
        how: `"copy"` copies packets, and moves each cut to the next key frame; `"exact"` encodes the frames;
            `"auto"` copies the clips that begin and end at key frames, and encodes the others.

    Raises:
        MediaError: The video is damaged, or `how` is `"copy"` and its packets cannot be copied.
    """
    timeline = timeline_of(medium, operator)
    ranges = _frame_ranges(timeline, clip_spans)
    if how == "copy":
        if not timeline.can_copy:
            lacks = (
                "it lacks times or key frames, as raw streams do, has an edit list, or a codec that clips cannot hold"
            )
            raise MediaError(
                f"{medium!r} cannot be cut by copying: {lacks}; encode it with `cut: exact` or `cut: auto`"
            )
        ranges = _moved_to_keys(ranges, timeline)
    keys = {*timeline.keys.tolist(), len(timeline)} if timeline.can_copy and how != "exact" else set[int]()
    copied = [frames for frames in ranges if keys.issuperset(frames)]
    encoded = [frames for frames in ranges if not keys.issuperset(frames)]
    yield from merge(
        _cut(medium, operator, timeline, copied, is_copy=True),
        _cut(medium, operator, timeline, encoded, is_copy=False),
        key=lambda clip: clip.start,
    )


def _cut(
    medium: Media, operator: str, timeline: Timeline, ranges: Sequence[tuple[int, int]], *, is_copy: bool
) -> Iterator[Clip]:
    """The clips for ranges of frames; all are copied, or all are encoded."""
    if not ranges:
        return
    rotation = facts_of(medium, operator).rotation if is_copy else None
    with opened(medium, operator) as container:
        cutter = _Cutter(container, timeline, ranges, rotation, is_copy=is_copy)
        try:
            yield from cutter.clips()
        finally:
            cutter.abort()


def _frame_ranges(timeline: Timeline, clip_spans: Sequence[Span]) -> list[tuple[int, int]]:
    bounds = np.searchsorted(timeline.times, np.array([*clip_spans]).reshape(-1, 2) - _EDGE)
    return [(first, stop) for first, stop in bounds.tolist() if first < stop]


def _moved_to_keys(ranges: Sequence[tuple[int, int]], timeline: Timeline) -> list[tuple[int, int]]:
    keys = np.append(timeline.keys, len(timeline))
    moved = keys[np.searchsorted(keys, np.array([*ranges]).reshape(-1, 2))]
    return [(first, stop) for first, stop in moved.tolist() if first < stop]


class _Cutter:
    """Writes the clips of a video in one pass."""

    def __init__(
        self,
        container: Any,
        timeline: Timeline,
        ranges: Sequence[tuple[int, int]],
        rotation: int | None,
        *,
        is_copy: bool,
    ) -> None:
        self._container, self._timeline, self._is_copy, self._rotation = container, timeline, is_copy, rotation
        self._waiting = list(reversed(ranges))
        self._open: list[tuple[tuple[int, int], VideoWriter]] = []

    def abort(self) -> None:
        """Drop the clips that are not complete."""
        for _, writer in self._open:
            writer.abort()

    def clips(self) -> Iterator[Clip]:
        """The clips, in the order in which they end."""
        container, timeline = self._container, self._timeline
        video, audio = container.streams.video[0], first_audio(container)
        number, packets = -1, 0
        for packet in container.demux([video] if audio is None else [video, audio]):
            if packet.stream is not video:
                if packet.pts is not None:
                    self._sound(packet)
                continue
            if self._is_copy:
                if packet.size:
                    number = int(np.searchsorted(timeline.ticks, packet.pts))
                    dts = int(timeline.ticks[packets]) - timeline.delay
                    packets += 1
                    self._picture(number, lambda writer, p=packet, dts=dts: writer.packet(p, dts))
            else:
                for frame in packet.decode():
                    number = number + 1 if frame.pts is None else int(np.searchsorted(timeline.ticks, frame.pts))
                    if number < len(timeline):
                        time = timeline.time(number)
                        self._picture(number, lambda writer, frame=frame, time=time: writer.frame(frame, time))
            yield from self._closed(number)
        yield from self._closed(None)

    def _picture(self, number: int, write: Any) -> None:
        while self._waiting and self._waiting[-1][0] <= number:
            frames = self._waiting.pop()
            start = self._timeline.time(frames[0])
            self._open.append(
                (frames, VideoWriter(self._container, start, is_copy=self._is_copy, rotation=self._rotation))
            )
        for (first, stop), writer in self._open:
            if first <= number < stop:
                if writer.is_flushed:
                    raise MediaError("the frames of the video are not in the order of their times; write them again")
                write(writer)
            elif number >= stop and not self._is_copy:
                writer.finish_frames()

    def _sound(self, packet: Any) -> None:
        seconds = packet.pts * packet.time_base
        for (first, stop), writer in self._open:
            is_after = first == 0 or seconds >= self._timeline.time(first)
            if is_after and (stop == len(self._timeline) or seconds < self._timeline.time(stop)):
                writer.sound(packet)

    def _closed(self, number: int | None) -> Iterator[Clip]:
        """The clips that get no more packets; all clips if `number`, the last frame's, is None."""
        timeline = self._timeline
        while self._open:
            (first, stop), writer = self._open[0]
            is_last = stop == len(timeline)
            if number is not None and (
                is_last or number < stop or timeline.times[number] < timeline.times[stop] + _SLACK_SECONDS
            ):
                return
            self._open.pop(0)
            file = writer.close()
            if file is not None:
                end = timeline.end if is_last else float(timeline.times[stop])
                yield Clip(float(timeline.times[first]), end, file, writer.suffix)
