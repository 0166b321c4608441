"""Draws a picture of a graph as SVG, in layers from top to bottom."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Final

from jinx_pipeline.report.graph_picture import Arrow, Box, BoxKind, Picture, shortened

# All lengths are in pixels. The width of text is estimated from its number of characters.
_CHARACTER: Final = 8.0
_LINE: Final = 18.0
_PADDING: Final = 10.0
_BETWEEN_BOXES: Final = 28.0
_BETWEEN_LAYERS: Final = 68.0
_LABEL: Final = 15.0
_MARGIN: Final = 12.0
MAX_CHARACTERS: Final = 34
# The width of capital letters relative to others.
_CAPITAL: Final = 1.25
_SWEEPS: Final = 8
# On a page that is narrower, the picture scrolls: its text would be too small to read.
_LEAST_SCALE: Final = 0.77
# What such a page shows first, around the first source.
_SHOWN_FIRST: Final = 260
# The share of the width of a box over which its arrows are spread.
_SHARE_OF_ENDS: Final = 0.8
_FILLS: Final[dict[BoxKind, str]] = {"source": "graph-source", "operators": "graph-operators", "sink": "graph-sink"}

_Point = tuple[float, float]

STYLE: Final = """
.graph { font: 13px/1.4 system-ui, sans-serif; } .graph text { fill: var(--ink, #1d2433); font-size: 13px; }
.graph .title { font-weight: 600; } .graph .label { fill: var(--soft, #5b6579); font-size: 12px; }
.graph rect { fill: var(--card, #fff); stroke: var(--kept, #3b6db5); stroke-width: 1.5; }
.graph .graph-source { fill: var(--back, #f6f7f9); stroke: var(--soft, #5b6579); }
.graph .graph-sink { stroke-width: 3; } .graph .halo { fill: var(--card, #fff); stroke: none; opacity: 0.85; }
.graph path { fill: none; stroke: var(--soft, #5b6579); stroke-width: 1.5; }
.drawing { position: relative; margin: 0 auto; } .drawing svg { width: 100%; height: auto; margin: 0; }
.drawing i { position: absolute; top: 0; height: 1px; scroll-initial-target: nearest; }
.graph .control { stroke-dasharray: 5 4; } .graph marker path { fill: var(--soft, #5b6579); stroke: none; }
"""


@dataclass
class _Place:
    """A box, or a point where a long arrow crosses a layer.

    Attributes:
        box: The box; None where an arrow passes.
        width: Its width.
        height: Its height.
        x: Its center.
        y: Its top.
        above: The places above it that it is connected to.
        below: The places below it that it is connected to.
    """

    box: Box | None
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    above: list["_Place"] = field(default_factory=list["_Place"])
    below: list["_Place"] = field(default_factory=list["_Place"])


def svg(picture: Picture) -> str:
    """The picture as an SVG element with the class `graph`; `STYLE` has its style."""
    return _drawn(picture)[0]


def drawing(picture: Picture) -> str:
    """The picture as an element of a page, at most as wide as the page, and not so small that it cannot be read.

    Where the page is narrower, the element that holds it scrolls, and shows the first source.
    """
    drawn, width, first = _drawn(picture)
    begin = f"left: calc({first / width:.1%} - {_SHOWN_FIRST // 2}px); width: {_SHOWN_FIRST}px"
    size = f"min-width: {_LEAST_SCALE * width:.0f}px; max-width: {width:.0f}px"
    return f'<div class="drawing" style="{size}">{drawn}<i style="{begin}"></i></div>'


def _drawn(picture: Picture) -> tuple[str, float, float]:
    """The picture as SVG, its width, and where the center of its first box is."""
    picture = shortened(picture, MAX_CHARACTERS)
    layers, routes = _layers(picture)
    _order(layers)
    width, height = _set_places(layers)
    paths = _paths(routes)
    parts = [_arrow(arrow, path) for arrow, path in zip(picture.arrows, paths, strict=True)]
    parts += [_box(place, place.box) for layer in layers for place in layer if place.box is not None]
    parts += _labels(picture.arrows, paths)
    marker = (
        '<defs><marker id="graph-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
    )
    drawn = (
        f'<svg class="graph" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" style="min-width:{_LEAST_SCALE * width:.0f}px" role="img" '
        f'aria-label="The graph of the recipe">'
        f"{marker}{''.join(parts)}</svg>"
    )
    return drawn, width, next((place.x for place in layers[0] if place.box is not None), width / 2)


def document(picture: Picture) -> str:
    """The picture as an SVG file."""
    head, _, body = svg(picture).partition(">")
    return f"{head}><!-- made by jinx-pipeline --><style>{STYLE}</style>{body}\n"


def _layers(picture: Picture) -> tuple[list[list[_Place]], list[list[_Place]]]:
    """The boxes and points in each layer, and those through which each arrow passes, from its first box to its last."""
    depths = dict.fromkeys((box.key for box in picture.boxes), 0)
    # The graph has no cycles, so the depths are final after as many rounds as there are boxes.
    for _ in picture.boxes:
        for arrow in picture.arrows:
            depths[arrow.target] = max(depths[arrow.target], depths[arrow.source] + 1)
    targets: dict[str, list[int]] = {}
    for arrow in picture.arrows:
        targets.setdefault(arrow.source, []).append(depths[arrow.target])
    for box in picture.boxes:
        if box.kind == "source" and targets.get(box.key):
            depths[box.key] = min(targets[box.key]) - 1  # directly before its reader
    layers: list[list[_Place]] = [[] for _ in range(max(depths.values(), default=0) + 1)]
    places: dict[str, _Place] = {}
    for box in picture.boxes:
        characters = max(map(_characters, box.lines), default=1)
        place = _Place(box, characters * _CHARACTER + 2 * _PADDING, len(box.lines) * _LINE + 2 * _PADDING)
        places[box.key] = place
        layers[depths[box.key]].append(place)
    routes: list[list[_Place]] = []
    for arrow in picture.arrows:
        route = [places[arrow.source]]
        for depth in range(depths[arrow.source] + 1, depths[arrow.target]):
            passed = _Place(None, _PADDING, 0.0)
            layers[depth].append(passed)
            route.append(passed)
        route.append(places[arrow.target])
        for upper, lower in pairwise(route):
            upper.below.append(lower)
            lower.above.append(upper)
        routes.append(route)
    return layers, routes


def _order(layers: list[list[_Place]]) -> None:
    """Order each layer so that few arrows cross: by the mean position of neighbors."""
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            positions = {id(place): float(index) for other in layers for index, place in enumerate(other)}

            def mean(place: _Place, positions: dict[int, float] = positions, *, down: bool = down) -> float:
                near = place.above if down else place.below
                return sum(positions[id(other)] for other in near) / len(near) if near else positions[id(place)]

            layer.sort(key=mean)


def _characters(line: str) -> float:
    """The width of a line, in average characters."""
    return sum(_CAPITAL if character.isupper() else 1.0 for character in line)


def _set_places(layers: list[list[_Place]]) -> tuple[float, float]:
    """Position boxes as far as possible above and below their neighbors; returns the total width and height."""
    y = _MARGIN
    for layer in layers:
        height = max((place.height for place in layer), default=0.0)
        for place in layer:
            place.y, place.height = y, place.height or height
        y += height + _BETWEEN_LAYERS
        _spread(layer, [0.0] * len(layer))
    for sweep in range(2 * _SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            wanted: list[float] = []
            for place in layer:
                near = place.above if down else place.below
                wanted.append(sum(other.x for other in near) / len(near) if near else place.x)
            _spread(layer, wanted)
    left = min(place.x - place.width / 2 for layer in layers for place in layer)
    right = max(place.x + place.width / 2 for layer in layers for place in layer)
    for layer in layers:
        for place in layer:
            place.x += _MARGIN - left
    return right - left + 2 * _MARGIN, y - _BETWEEN_LAYERS + _MARGIN


def _spread(layer: Sequence[_Place], wanted: Sequence[float]) -> None:
    """Place a layer near the wanted positions, in order and without overlaps.

    Each position is the mean of those from placing left to right and right to left.
    """
    rightwards: list[float] = []
    for index, place in enumerate(layer):
        x = wanted[index]
        if index:
            x = max(x, rightwards[-1] + _distance(layer[index - 1], place))
        rightwards.append(x)
    leftwards = list(wanted)
    for index in range(len(layer) - 1, -1, -1):
        if index + 1 < len(layer):
            leftwards[index] = min(leftwards[index], leftwards[index + 1] - _distance(layer[index], layer[index + 1]))
    for place, first, second in zip(layer, rightwards, leftwards, strict=True):
        place.x = (first + second) / 2


def _distance(left: _Place, right: _Place) -> float:
    return (left.width + right.width) / 2 + _BETWEEN_BOXES


def _paths(routes: Sequence[Sequence[_Place]]) -> list[list[_Point]]:
    """The points of each arrow. Arrows that begin or end at the same box are side by side, without crossing."""
    leaving: dict[int, list[int]] = {}
    arriving: dict[int, list[int]] = {}
    for number, route in enumerate(routes):
        leaving.setdefault(id(route[0]), []).append(number)
        arriving.setdefault(id(route[-1]), []).append(number)
    paths: list[list[_Point]] = []
    for number, route in enumerate(routes):
        first, last = route[0], route[-1]
        from_it = sorted(leaving[id(first)], key=lambda other: routes[other][1].x)
        to_it = sorted(arriving[id(last)], key=lambda other: routes[other][-2].x)
        points = [(_beside(first, from_it.index(number), len(from_it)), first.y + first.height)]
        for place in route[1:-1]:
            points += [(place.x, place.y), (place.x, place.y + place.height)]
        paths.append([*points, (_beside(last, to_it.index(number), len(to_it)), last.y)])
    return paths


def _beside(place: _Place, index: int, count: int) -> float:
    """The x-coordinate of one of several arrows at a box."""
    return place.x + place.width * _SHARE_OF_ENDS * ((index + 0.5) / count - 0.5)


def _arrow(arrow: Arrow, points: Sequence[_Point]) -> str:
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        path += f" C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
    kind = ' class="control"' if arrow.is_control else ""
    return f'<path{kind} d="{path}" marker-end="url(#graph-tip)"/>'


def _labels(arrows: Sequence[Arrow], paths: Sequence[Sequence[_Point]]) -> list[str]:
    """The labels, near the ends of their arrows, where arrows spread; stacked above each other if necessary."""
    placed: list[tuple[float, float, float]] = []
    texts: list[str] = []
    for arrow, path in zip(arrows, paths, strict=True):
        if not arrow.label:
            continue
        (x0, y0), (x1, y1) = path[-2:]
        x, y = (x0 + 3 * x1) / 4, y1 - 18
        width = len(arrow.label) * _CHARACTER * 0.92 + 6
        while any(abs(x - x2) < (width + w2) / 2 and abs(y - y2) < _LABEL for x2, y2, w2 in placed) and y > y0:
            y -= _LABEL
        placed.append((x, y, width))
        texts.append(
            f'<rect class="halo" x="{x - width / 2:.1f}" y="{y - 11:.1f}" width="{width:.1f}" height="15"/>'
            f'<text class="label" x="{x:.1f}" y="{y + 1:.1f}" text-anchor="middle">{escape(arrow.label)}</text>'
        )
    return texts


def _box(place: _Place, box: Box) -> str:
    left = place.x - place.width / 2
    corner = 16 if box.kind == "source" else 4
    lines = "".join(
        f'<text{" class=" + chr(34) + "title" + chr(34) if index == 0 else ""} x="{place.x:.1f}" '
        f'y="{place.y + _PADDING + _LINE * index + 13:.1f}" text-anchor="middle">{escape(line)}</text>'
        for index, line in enumerate(box.lines)
    )
    return (
        f'<rect class="{_FILLS[box.kind]}" x="{left:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="{corner}"/>{lines}'
    )
