"""Draws comparisons and plans: sequences as rows, samples as segments, images at the right, costs of ranks below."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from jinx._atomic_write import published
from jinx._optional import require
from jinx._pack.batching_methods import batching_of
from jinx._pack.chart_rows import rows_of
from jinx._pack.packs import Packs
from jinx._pack.sizes import IMAGES, TOKENS

# Bin packing would look like greedy packing with fewer rows, so only the table has its numbers.
_PANELS = {
    "naive_padding": "Naive padding",
    "constrained_padding": "Constrained padding",
    "greedy": "Greedy packing",
    "knapsack": "Knapsack",
}
_SHADES: tuple[str, ...] = ("#1f5f8b", "#4a90b8", "#2f7f9e", "#6aa9c7", "#245a73", "#5b9fb0")
_PADDING, _EDGE, _LIMIT, _STRIP, _SLOW = "#e4e4e4", "#ffffff", "#b03a2e", "#d98e32", "#b03a2e"
_ROW_INCHES, _PANEL_INCHES, _COST_INCHES = 0.1, 0.45, 1.5
# A naive batch is drawn up to this many times `max_length`, so that one long sample does not flatten the rest.
_WIDEST = 1.5


def draw(comparison: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Draw a comparison of batching methods.

    Args:
        comparison: What `PackComparison.to_dict` returns.
        path: The file of the picture.
    """
    shown: dict[str, Sequence[Mapping[str, Any]]] = {name: comparison["shown"][name] for name in _PANELS}
    heights = [_PANEL_INCHES + _ROW_INCHES * max(len(rows), 1) for rows in shown.values()]
    figure = _figure(sum(heights) + 2 * _COST_INCHES + 1.2)
    grid = figure.add_gridspec(
        len(_PANELS) + 2, 2, height_ratios=[*heights, _COST_INCHES, _COST_INCHES], width_ratios=[12, 1]
    )
    limit = comparison["budgets"][TOKENS]
    widest = max((row["width"] for rows in shown.values() for row in rows), default=limit)
    right = min(max(widest, limit), _WIDEST * limit)
    max_images = max((sum(row["images"]) for rows in shown.values() for row in rows), default=0)
    first: Any = None
    for place, (name, rows) in enumerate(shown.items()):
        axes = figure.add_subplot(grid[place, 0], sharex=first)
        first = first or axes
        _panel(axes, rows, limit)
        axes.set_xlim(0, right * 1.005)
        axes.set_title(_title(comparison, name), loc="left", fontsize=10)
        axes.tick_params(labelbottom=place == len(_PANELS) - 1)
        strip = figure.add_subplot(grid[place, 1], sharey=axes)
        _images(strip, rows, comparison["budgets"].get(IMAGES), max_images)
        if place == 0:
            strip.set_title("images", loc="left", fontsize=10)
    first.figure.axes[2 * (len(_PANELS) - 1)].set_xlabel(f"tokens; the line is at max_length={limit:,}", fontsize=9)
    _costs(figure, grid, comparison)
    with published(path) as temporary:
        figure.savefig(temporary, dpi=130)


def draw_packs(packs: Packs, path: str | os.PathLike[str], count: int, tokens_per_image: int) -> None:
    """Draw the first packs of a plan; see `PackPlan.plot`."""
    batching = batching_of(packs, count)
    rows = [row.to_dict() for row in rows_of(batching, packs.stored_sizes, None, tokens_per_image)]
    figure = _figure(_PANEL_INCHES + 2 * _ROW_INCHES * max(len(rows), 4) + 0.5)
    axes, strip = figure.subplots(1, 2, sharey=True, width_ratios=[12, 1])
    _panel(axes, rows, packs.max_length)
    axes.set_xlim(0, packs.max_length * 1.005)
    axes.set_xlabel(f"tokens; the line is at max_length={packs.max_length:,}", fontsize=9)
    axes.set_title(
        f"{len(packs):,} packs, {packs.efficiency:.2%} useful; the first {len(rows)}", loc="left", fontsize=10
    )
    _images(strip, rows, packs.budgets.get(IMAGES), max((sum(row["images"]) for row in rows), default=0))
    strip.set_title("images", loc="left", fontsize=10)
    with published(path) as temporary:
        figure.savefig(temporary, dpi=130)


def _figure(height_inches: float) -> Any:
    """An empty figure, which needs no display."""
    require("matplotlib", extra="viz", what="the picture")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, height_inches), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _title(comparison: Mapping[str, Any], name: str) -> str:
    stage = next(candidate for candidate in comparison["stages"] if candidate["name"] == name)
    rows = "sequences" if name.endswith("padding") else "packs"
    return (
        f"{_PANELS[name]}: {stage['efficiency']:.2%} useful, {stage['rows']:,} {rows} for {stage['samples']:,} samples"
        f", {stage['dropped']:,} dropped"
    )


def _panel(axes: Any, rows: Sequence[Mapping[str, Any]], limit: int) -> None:
    for y, row in enumerate(rows):
        place = (y - 0.5, 1)
        axes.broken_barh([(0, row["width"])], place, facecolor=_PADDING, edgecolor=_EDGE, linewidth=0.5)
        members: Any = zip(row["samples"], row["tokens"], row["image_tokens"], strict=True)
        segments: list[tuple[int, int]] = []
        of_images: list[tuple[int, int]] = []
        shades: list[str] = []
        left = 0
        for sample, tokens, images in members:
            segments.append((left, tokens))
            of_images.append((left, images))
            shades.append(_SHADES[int(sample) % len(_SHADES)])
            left += tokens
        axes.broken_barh(segments, place, facecolors=shades, edgecolor=_EDGE, linewidth=0.5)
        if any(images for _, images in of_images):
            axes.broken_barh(of_images, place, facecolors=shades, edgecolor=_EDGE, linewidth=0, hatch="//////")
    axes.axvline(limit, color=_LIMIT, linewidth=1.2)
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    axes.set_yticks([])
    axes.set_frame_on(False)


def _images(axes: Any, rows: Sequence[Mapping[str, Any]], budget: int | None, max_images: int) -> None:
    """Draw the images of each row as a bar."""
    axes.barh(range(len(rows)), [sum(row["images"]) for row in rows], height=0.8, color=_STRIP)
    if budget is not None:
        axes.axvline(budget, color=_LIMIT, linewidth=1.2)
    axes.set_xlim(0, max(max_images, budget or 0, 1) * 1.05)
    axes.tick_params(labelleft=False, left=False, labelsize=8)
    axes.set_frame_on(False)


def _costs(figure: Any, grid: Any, comparison: Mapping[str, Any]) -> None:
    """Draw the costs of ranks: the range, and the slowest rank, for which the others wait."""
    shared: Any = None
    for place, when in enumerate(("before", "after")):
        axes = figure.add_subplot(grid[len(_PANELS) + place, :], sharex=shared, sharey=shared)
        shared = shared or axes
        steps = comparison["costs"][when]
        slowest = [max(ranks) for ranks in steps]
        axes.fill_between(
            range(len(steps)),
            [min(ranks) for ranks in steps],
            slowest,
            color=_SHADES[3],
            alpha=0.5,
            step="mid",
            linewidth=0,
        )
        axes.step(range(len(steps)), slowest, where="mid", color=_SLOW, linewidth=1, label="slowest of 8 ranks")
        means = [sum(ranks) / len(ranks) for ranks in steps]
        axes.step(range(len(steps)), means, where="mid", color=_SHADES[0], linewidth=1, label="mean")
        order = "in the plan's order" if when == "before" else "balanced"
        axes.set_title(
            f"{comparison['cost']} of a step, {order}: slowest/mean {comparison['imbalance'][when]:.2f}",
            loc="left",
            fontsize=10,
        )
        axes.tick_params(labelbottom=when == "after", labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    shared.set_ylim(bottom=0)
    if comparison["costs"]["before"]:
        shared.legend(loc="lower right", fontsize=8, frameon=False, ncols=2)
