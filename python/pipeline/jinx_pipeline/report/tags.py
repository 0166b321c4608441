"""Counts of strings as bars and as a cloud, drawn as SVG."""

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

_MOST: Final = 60
_BARS: Final = 12
_WIDTH: Final = 480.0
_BAR: Final = 22.0
_NAMES: Final = 230.0
# The smallest and the largest font size in the cloud. A phone shows the picture at two thirds of its size.
_SMALLEST, _LARGEST = 16.0, 38.0
# A cloud of many rare strings is unreadable: how often the most frequent string may be as frequent as another.
_RAREST: Final = 100
# The mean width of a character, as a share of the font size.
_CHARACTER: Final = 0.6
_LONGEST: Final = 24
# Next to a bar, where the names are 17 px high.
_LONGEST_NAME: Final = 22


def tag_counts(values: Iterable[Any]) -> list[tuple[str, int]]:
    """The most frequent strings with their counts; each string of a list counts, and equal counts are in order."""
    counts: Counter[str] = Counter()
    for value in values:
        counts.update([value] if isinstance(value, str) else (value or ()))
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST]


def bars(tags: Sequence[tuple[str, int]]) -> str:
    """The most frequent strings as bars."""
    shown = tags[:_BARS]
    peak = max((count for _, count in shown), default=1)
    parts: list[str] = []
    for row, (tag, count) in enumerate(shown):
        y, width = row * _BAR, (_WIDTH - _NAMES - 70) * count / peak
        parts.append(
            f'<text x="{_NAMES - 8:.0f}" y="{y + 16:.0f}" text-anchor="end">{escape(_short(tag, _LONGEST_NAME))}</text>'
            f'<rect x="{_NAMES:.0f}" y="{y + 3:.0f}" width="{width:.1f}" height="{_BAR - 6:.0f}" fill="var(--kept)"/>'
            f'<text x="{_NAMES + width + 6:.1f}" y="{y + 16:.0f}">{count:,}</text>'
        )
    return _svg(parts, len(shown) * _BAR, "The most frequent values")


def cloud(tags: Sequence[tuple[str, int]]) -> str:
    """The strings in rows, with a size for the count of each, without those that are rare next to the first."""
    peak = max((count for _, count in tags), default=1)
    tags = [(tag, count) for tag, count in tags if count * _RAREST >= peak]
    rows: list[list[tuple[str, float, float]]] = [[]]
    used = 0.0
    # Alphabetical order makes a string easy to find.
    for tag, count in sorted(tags):
        size = _SMALLEST + (_LARGEST - _SMALLEST) * (count / peak) ** 0.5
        width = min(len(_short(tag)) * size * _CHARACTER + 12, _WIDTH)
        if used + width > _WIDTH and rows[-1]:
            rows.append([])
            used = 0.0
        rows[-1].append((_short(tag), size, width))
        used += width
    parts: list[str] = []
    y = 0.0
    for row in rows:
        y += max((size for _, size, _ in row), default=0.0) * 1.25
        x = (_WIDTH - sum(width for _, _, width in row)) / 2
        for tag, size, width in row:
            parts.append(
                f'<text x="{x + width / 2:.1f}" y="{y:.1f}" text-anchor="middle" style="font-size:{size:.1f}px">'
                f"{escape(tag)}</text>"
            )
            x += width
    return _svg(parts, y + 10, "A cloud of the values")


def _svg(parts: Sequence[str], height: float, label: str) -> str:
    head = f'<svg viewBox="0 0 {_WIDTH:.0f} {max(height, 1):.0f}" role="img" aria-label="{label}">'
    return f"{head}{''.join(parts)}</svg>"


def _short(tag: str, length: int = _LONGEST) -> str:
    return tag if len(tag) <= length else f"{tag[: length - 1]}…"
