"""Finds the loud spans of an audio, between its silences."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

FRAME_SECONDS = 0.01
"""The level is measured over spans of this length."""


def levels(samples: "Floats", rate: int) -> "npt.NDArray[np.float64]":
    """The level of each frame of a single channel, in decibels below full scale."""
    length = max(round(rate * FRAME_SECONDS), 1)
    padded = np.pad(samples, (0, -len(samples) % length))
    power = np.square(padded.reshape(-1, length), dtype=np.float64).mean(axis=1)
    return 10 * np.log10(np.maximum(power, 1e-20))


def loud_spans(
    frame_levels: "npt.NDArray[np.float64]", threshold: float, min_silence: int, padding: int
) -> list[tuple[int, int]]:
    """The spans of frames between silences, each with some frames around it.

    Args:
        frame_levels: See `levels`.
        threshold: Frames below this level are silent.
        min_silence: This many silent frames in a row divide an audio.
        padding: The number of frames of silence that stay at each end of a span; at most half of a silence.
    """
    loud = np.flatnonzero(frame_levels >= threshold)
    if not len(loud):
        return []
    gaps = np.flatnonzero(np.diff(loud) > max(min_silence, 1))
    firsts, lasts = loud[np.append(0, gaps + 1)], loud[np.append(gaps, len(loud) - 1)]
    middles = (lasts[:-1] + firsts[1:] + 1) // 2
    starts = np.maximum(firsts - padding, np.append(0, middles))
    stops = np.minimum(lasts + 1 + padding, np.append(middles, len(frame_levels)))
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def divided(frame_levels: "npt.NDArray[np.float64]", span: tuple[int, int], max_frames: int) -> list[tuple[int, int]]:
    """The parts of a span, none longer than a limit, cut at their quietest frames.

    Args:
        frame_levels: See `levels`.
        span: The span.
        max_frames: The limit.
    """
    start, stop = span
    parts: list[tuple[int, int]] = []
    while stop - start > max_frames:
        # Cut in the second half, so that parts are not much shorter than the limit.
        first = start + max(max_frames // 2, 1)
        cut = first + int(np.argmin(frame_levels[first : start + max_frames + 1]))
        parts.append((start, cut))
        start = cut
    return [*parts, (start, stop)]
