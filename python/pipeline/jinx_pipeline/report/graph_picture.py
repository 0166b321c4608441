"""A recipe as a picture: boxes for sources, operators and outputs, and arrows for the rows between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from jinx_pipeline.operators.api.gather import Gather
from jinx_pipeline.operators.table.table_upsert import TableUpsert
from jinx_pipeline.plan.stage import may_move
from jinx_pipeline.recipe.model import Recipe, StepPort
from jinx_pipeline.report.run_result import RunResult

BoxKind = Literal["source", "operators", "sink"]

_MAX_OPERATORS: Final = 6
_KEPT: Final = frozenset({"out", "kept"})
"""The ports that need no name."""
_SHAPES: Final[dict[BoxKind, tuple[str, str]]] = {
    "source": ("[(", ")]"),
    "operators": ("[", "]"),
    "sink": ("[/", "/]"),
}


@dataclass(frozen=True)
class Box:
    """A box of the picture.

    Attributes:
        key: A unique name.
        kind: What it stands for.
        lines: Its text; the first line is its title.
    """

    key: str
    kind: BoxKind
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Arrow:
    """An arrow of the picture.

    Attributes:
        source: The key of the box where it begins.
        target: The key of the box where it ends.
        label: Its text.
        is_control: Whether it stands for an order, not for rows.
    """

    source: str
    target: str
    label: str = ""
    is_control: bool = False


@dataclass(frozen=True)
class Picture:
    """A graph to draw.

    Attributes:
        boxes: The boxes.
        arrows: The arrows between them.
    """

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    def with_text(self, change: Callable[[str], str]) -> "Picture":
        """The picture with other texts in its boxes; before they are shortened, so that all of a path is seen."""
        return replace(self, boxes=tuple(replace(box, lines=tuple(map(change, box.lines))) for box in self.boxes))


def picture_of(recipe: Recipe, result: RunResult | None = None) -> Picture:
    """The picture of a recipe.

    Args:
        recipe: The recipe.
        result: The result of its run, for rows and seconds; None if the picture has none.
    """
    drawing = _Drawing(recipe, result)
    for number, sources in enumerate(recipe.groups):
        specs = [recipe.sources[source] for source in sources]
        paths = [spec.path if spec.query is None else spec.query.query for spec in specs]
        shown = [*paths[:_MAX_OPERATORS], *(["..."] if len(paths) > _MAX_OPERATORS else [])]
        drawing.add(f"s{number}", "source", shown)
    for key, places in drawing.nodes.items():
        drawing.add_operators(key, places)
    for number, output in enumerate(recipe.all_outputs):
        if output.export is not None:
            key = f"o{number}"
            drawing.add(key, "sink", [output.export.path, output.export.kind])
            drawing.connect(output.inputs, key, rows=None if result is None else result.outputs[number].rows)
            drawing.follow(output.after, key)
    return Picture(tuple(drawing.boxes), tuple(drawing.arrows))


class _Drawing:
    def __init__(self, recipe: Recipe, result: RunResult | None) -> None:
        self.boxes: list[Box] = []
        self.arrows: list[Arrow] = []
        self._recipe = recipe
        self._result = result
        self._totals = {} if result is None else {totals.place: totals for totals in result.operators}
        self._rows_out = self._rows_after()
        self.nodes: dict[str, list[int]] = {}
        self._box_of: dict[int, str] = {}
        for place, step in enumerate(recipe.steps):
            if isinstance(step.operator, Gather):
                continue
            # Steps of a recipe's list have no names; consecutive ones share a box.
            key = f"n{len(self.nodes)}"
            last = next(reversed(self.nodes), None)
            if step.name and last is not None and recipe.steps[self.nodes[last][0]].name == step.name:
                key = last
            self.nodes.setdefault(key, []).append(place)
            self._box_of[place] = key

    def add(self, key: str, kind: BoxKind, lines: Sequence[str]) -> None:
        """Add a box."""
        self.boxes.append(Box(key, kind, tuple(lines)))

    def add_operators(self, key: str, places: Sequence[int]) -> None:
        """Add a box of operators, with the arrows that lead to it."""
        steps = [self._recipe.steps[place] for place in places]
        names = [step.operator.name for step in steps]
        shown = [*names[:_MAX_OPERATORS], *(["..."] if len(names) > _MAX_OPERATORS else [])]
        title = steps[0].name
        lines = [title, *(name for name in shown if name != title)] if title else shown
        if self._result is not None:
            seconds = sum(self._totals[place].seconds for place in places)
            lines.append(f"{seconds:,.1f} s")
        operator = steps[0].operator
        if isinstance(operator, TableUpsert):
            lines[1:2] = [f"table {operator.table}"]
        self.add(key, "sink" if isinstance(operator, TableUpsert) else "operators", lines)
        inputs = self._recipe.step_inputs[places[0]]
        is_joined = getattr(operator, "other_is_input", False)
        rows = self._totals[places[0]].rows_in if self._result is not None else None
        self.connect(inputs[:-1] if is_joined else inputs, key, rows=rows)
        if is_joined:
            self.connect(inputs[-1:], key, label="right")
        self.follow(steps[0].after, key)

    def connect(self, inputs: Sequence[StepPort], key: str, *, rows: int | None = None, label: str = "") -> None:
        """Add arrows from the boxes to which some ports belong; ports of one box share an arrow.

        Args:
            inputs: The ports.
            key: The box that reads them.
            rows: The rows that it reads, if they come from one box and their ports do not say.
            label: What the label begins with.
        """
        ports: dict[tuple[str, str], list[StepPort]] = {}
        weights: dict[tuple[str, str], float] = {}
        for port, weight in self._streams(inputs):
            box = self._output(port)
            ports.setdefault(box, []).append(port)
            if weight is not None:
                weights[box] = weight
        conditions = self._conditions(inputs)
        for (source, name), read in ports.items():
            counts = [self._rows(port) for port in read]
            known = [count for count in counts if count is not None]
            total = sum(known) if known and len(known) == len(counts) else rows if len(ports) == 1 else None
            texts = [label, name, f"weight {weights[source, name]:g}" if (source, name) in weights else ""]
            texts += ["" if total is None else f"{total:,}", conditions.pop((source, name), "")]
            self.arrows.append(Arrow(source, key, ", ".join(filter(None, texts))))
        for (source, name), condition in conditions.items():
            text = f"{name}, {condition}" if name else condition
            self.arrows.append(Arrow(source, key, text, is_control=True))

    def follow(self, after: Sequence[StepPort], key: str) -> None:
        """Add arrows for the order of boxes."""
        for source in dict.fromkeys(map(self._box, after)):
            self.arrows.append(Arrow(source, key, "then", is_control=True))

    def _conditions(self, inputs: Sequence[StepPort]) -> dict[tuple[str, str], str]:
        """The conditions for rows to flow, by the box and output whose rows are counted."""
        conditions: dict[tuple[str, str], str] = {}
        for port in inputs:
            operator = None if port.step is None else self._recipe.steps[port.step].operator
            if not isinstance(operator, Gather) or not operator.counts_last or port.step is None:
                continue
            limits = (("≥", operator.at_least), ("≤", operator.at_most))
            bounds = [f"{sign} {bound:,}" for sign, bound in limits if bound is not None]
            for counted, _ in self._streams(self._recipe.step_inputs[port.step][-1:]):
                conditions[self._output(counted)] = f"if rows {' and '.join(bounds)}"
        return conditions

    def _output(self, port: StepPort) -> tuple[str, str]:
        """The box of a port, and the name of the output."""
        return self._box(port), "" if port.port in _KEPT else port.port

    def _streams(self, ports: Sequence[StepPort]) -> list[tuple[StepPort, float | None]]:
        """The ports of boxes, with their weights in a mixture."""
        streams: list[tuple[StepPort, float | None]] = []
        for port in ports:
            operator = None if port.step is None else self._recipe.steps[port.step].operator
            if not isinstance(operator, Gather) or port.step is None:
                streams.append((port, None))
                continue
            inputs = self._recipe.step_inputs[port.step]
            inputs = inputs[:-1] if operator.counts_last else inputs
            weights = operator.weights or [None] * len(inputs)
            for inner, weight in zip(inputs, weights, strict=True):
                streams += [(stream, weight if other is None else other) for stream, other in self._streams([inner])]
        return streams

    def _box(self, port: StepPort) -> str:
        if port.step is None:
            return f"s{port.group}"
        operator = self._recipe.steps[port.step].operator
        if isinstance(operator, Gather):
            return self._box(self._recipe.step_inputs[port.step][0])
        return self._box_of[port.step]

    def _rows(self, port: StepPort) -> int | None:
        """The number of rows that left a step through a port."""
        if self._result is None:
            return None
        if port.step is None:
            return self._result.source_rows[port.group]
        totals = self._totals[port.step]
        if port.port == "dropped":
            return totals.rows_in - totals.rows_out - totals.bad_rows
        return totals.bad_rows if port.port == "failed" else self._rows_out[port.step]

    def _rows_after(self) -> dict[int, int]:
        """The rows that leave each step, as if steps ran in the order of the recipe.

        The planner lets the fastest of the filters that commute run first, so that what one of them reads and keeps
        depends on its speed. From the rows that the first one reads, those that each drops are subtracted.
        """
        runs: list[list[int]] = []
        run_of: dict[int | None, list[int]] = {}
        for place, (inputs, step) in enumerate(zip(self._recipe.step_inputs, self._recipe.steps, strict=True)):
            if place not in self._totals:
                continue
            moves = may_move(step.operator)
            before = inputs[0].step if len(inputs) == 1 and inputs[0].port in _KEPT else None
            run = run_of.get(before, [])
            if not moves or not run or run[-1] != before:
                run = []
                runs.append(run)
            run.append(place)
            if moves:
                run_of[place] = run
        rows: dict[int, int] = {}
        for run in runs:
            left = max(self._totals[place].rows_in for place in run)
            for place in run:
                left -= self._totals[place].rows_in - self._totals[place].rows_out
                rows[place] = left
        return rows


def mermaid(picture: Picture) -> str:
    """The picture as a Mermaid flowchart."""
    lines = ["flowchart TD", "  %% made by jinx-pipeline"]
    for box in picture.boxes:
        opening, closing = _SHAPES[box.kind]
        lines.append(f'  {box.key}{opening}"{"<br>".join(map(_quoted, box.lines))}"{closing}')
    for arrow in picture.arrows:
        line = "-.->" if arrow.is_control else "-->"
        label = f'|"{_quoted(arrow.label)}"|' if arrow.label else ""
        lines.append(f"  {arrow.source} {line}{label} {arrow.target}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    # Replace the number sign first, because the entities begin with it.
    for character, entity in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("\n", " ")):
        text = text.replace(character, entity)
    return text


def shortened(picture: Picture, characters: int) -> Picture:
    """The picture with long lines cut in the middle.

    Args:
        picture: The picture.
        characters: The maximum length of a line.
    """
    return picture.with_text(lambda text: cut(text, characters))


def cut(text: str, characters: int) -> str:
    """A line without its middle, so that it has at most this many characters."""
    half = (characters - 1) // 2
    return text if len(text) <= characters else f"{text[:half]}…{text[-half:]}"
