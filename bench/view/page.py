"""The page of a run as Markdown: each target beside what was reached."""

from collections.abc import Callable
from typing import Any

from bench.about import about_run

_MEGABYTE = 1e6

_ABOUT = """\
{samples:,} samples with pictures, in {shards} shards of which eight differ and the others are further names of these.
The page cache holds them. "Enter to 24 pictures" counts from the start of the command, without what the browser takes
to start. A jump moves the scroll bar to any place. A brush counts four linked charts anew. Memory is the most
that the server had at any time without what it maps, while charts, orders and searches were made.
Medians of {rounds} rounds."""

Show = Callable[[float], str]


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.0f} ms"


def _bytes(value: float) -> str:
    return f"{value / _MEGABYTE:,.1f} MB"


# Name, unit, goal, and whether more is better.
TARGETS: tuple[tuple[str, str, Show, float, bool], ...] = (
    ("Enter to 24 pictures", "first_pictures", _seconds, 2, False),
    ("95th percentile of a frame while scrolling", "frame_p95", _seconds, 0.033, False),
    ("jump to any place", "jump", _seconds, 0.3, False),
    ("brush over four linked charts", "brush", _seconds, 0.15, False),
    ("first page in another order", "sort", _seconds, 0.6, False),
    ("word search, rate", "search_rate", lambda rate: f"{rate / 1e9:.2f} GB/s", 1.5e9, True),
    ("word search, first hit", "first_hit", _seconds, 0.1, False),
    ("server memory", "memory", _bytes, 0, False),
    ("page", "page", _bytes, 150e3, False),
    ("JS heap", "heap", _bytes, 50e6, False),
)


def page(result: dict[str, Any]) -> str:
    """The text of the page."""
    reached = result["reached"]
    about = _ABOUT.format(samples=result["samples"], shards=result["shards"], rounds=result["rounds"])
    lines = [
        "# The viewer",
        "",
        about_run(result),
        "",
        about,
        "",
        "| what | goal | reached | met |",
        "|---|--:|--:|---|",
    ]
    for name, key, show, bound, is_rate in TARGETS:
        goal = 60e6 + 12 * result["samples"] if key == "memory" else bound
        value = reached[key]
        is_met = value >= goal if is_rate else value <= goal
        lines.append(
            f"| {name} | {'>=' if is_rate else '<='} {show(goal)} | {show(value)} | {'yes' if is_met else 'no'} |"
        )
    return "\n".join(lines) + "\n"
