"""What the operators of a recipe do to the statistics of a few samples: a trial that measures between them."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import jinx
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.gather import Gather
from jinx_pipeline.operators.api.measurement import MEASURED, Measurement
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import FusedOp
from jinx_pipeline.operators.api.registry import create
from jinx_pipeline.operators.table.table_select import TableSelect
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.recipe.model import Output, Recipe, Step, StepPort
from jinx_pipeline.report.insight import Insight, Values, effects
from jinx_pipeline.report.tags import tag_counts
from jinx_pipeline.run import Run
from jinx_pipeline.store.mirror import is_remote
from jinx_pipeline.trial import trial_of

if TYPE_CHECKING:
    import numpy.typing as npt

# What every text has; statistics of media are measured if the recipe has a filter with them.
_ALWAYS = ("text_length_filter",)


def insight(recipe: Recipe, limit: int, near: str | None = None) -> Insight:
    """What the operators of a recipe do to the statistics of a random sample of its input.

    All filters of the recipe measure what each operator reads, and what it makes or keeps. Tables are written to a
    temporary database, and media that operators would store are dropped.

    Args:
        recipe: The recipe, a list or a graph.
        limit: How many samples of each source.
        near: A path on a disk that all machines of a Ray cluster see; its directory has the temporary files.
    """
    is_shared = recipe.options.engine == "ray" and near and not is_remote(near)
    parent = Path(near).absolute().parent if near and is_shared else None
    with tempfile.TemporaryDirectory(prefix="jinx-pipeline-", dir=parent) as folder:
        recipe = trial_of(recipe, limit, Path(folder))
        filters = _filters(recipe)
        sides = list(_sides(recipe))
        ports = list(dict.fromkeys(port for side in sides for port in (*side.before, *side.after)))
        if not ports:
            return Insight(0)
        path = Path(folder)
        paths = {port: str(path / f"measured-{number}.jinx") for number, port in enumerate(ports)}
        result = Run(_measuring(recipe, filters, paths))()
        measured = {port: _measured(paths[port], filters) for port in ports}
    values = [
        Values(
            side.operator.name,
            _joined([measured[port] for port in side.before]),
            _joined([measured[port] for port in side.after]),
        )
        for side in sides
    ]
    return Insight(result.rows_in, effects(values), _tags(measured, sides, filters))


@dataclass(frozen=True)
class _Side:
    """The streams on both sides of an operator.

    Attributes:
        operator: The operator.
        before: The ports whose samples it reads.
        after: The ports whose samples it makes or keeps.
    """

    operator: Operator
    before: tuple[StepPort, ...]
    after: tuple[StepPort, ...]


@dataclass(frozen=True)
class _Measured:
    """What filters measured of the samples of a stream.

    Attributes:
        numbers: The values of each statistic that is a number; each element of a list counts.
        strings: Those of each statistic of strings.
    """

    numbers: Mapping[str, "npt.NDArray[np.float64]"]
    strings: Mapping[str, list[str]]


def _filters(recipe: Recipe) -> list[Filter]:
    """The filters that measure, without those that measure the same."""
    found = {operator.stats_digest: operator for step in recipe.steps for operator in _filters_in(step.operator)}
    names = {name for operator in found.values() for name in operator.stats}
    others = [operator for operator in map(create, _ALWAYS) if isinstance(operator, Filter)]
    return [*found.values(), *(operator for operator in others if not names.issuperset(operator.stats))]


def _filters_in(operator: Operator) -> Iterator[Filter]:
    if isinstance(operator, FusedOp):
        for part in operator.operators:
            yield from _filters_in(part)
    elif isinstance(operator, Filter) and operator.stats:
        yield operator


def _sides(recipe: Recipe) -> Iterator[_Side]:
    """The streams on both sides of each operator that drops, changes or makes samples."""
    groups: set[int] = set()
    for place, step in enumerate(recipe.steps):
        operator, inputs = step.operator, recipe.step_inputs[place]
        if isinstance(operator, Gather | TableSelect) or operator.kind == "sink":
            continue
        if operator.kind == "grouper" and _is_aggregated(recipe, place):
            groups.add(place)  # only what is made of its groups is a stream
            continue
        if isinstance(operator, Filter):
            kept = StepPort(place)
            yield _Side(operator, (kept, StepPort(place, "dropped")), (kept,))
            continue
        first = inputs[0].step
        before = recipe.step_inputs[first] if first is not None and first in groups else inputs
        # Of a join, only what it adds to.
        is_joined = getattr(operator, "other_is_input", False)
        yield _Side(operator, before[:-1] if is_joined else before, (StepPort(place),))


def _is_aggregated(recipe: Recipe, place: int) -> bool:
    """Whether an aggregator reads the groups of a grouper."""
    readers = zip(recipe.steps, recipe.step_inputs, strict=True)
    return any(step.operator.kind == "aggregator" and inputs[0].step == place for step, inputs in readers)


def _measuring(recipe: Recipe, filters: Sequence[Filter], paths: Mapping[StepPort, str]) -> Recipe:
    """The recipe with what is measured at some ports as its outputs."""
    measurement = Measurement(filters=list(filters))
    steps = [replace(step, inputs=inputs) for step, inputs in zip(recipe.steps, recipe.step_inputs, strict=True)]
    outputs: list[Output] = []
    for port, path in paths.items():
        outputs.append(Output((StepPort(len(steps)),), Export(path, keep_stats=False)))
        steps.append(Step(measurement, inputs=(port,)))
    outputs += [
        replace(output, export=export) for output, export in zip(recipe.all_outputs, recipe.exports, strict=True)
    ]
    return replace(recipe, steps=tuple(steps), outputs=tuple(outputs), export=outputs[0].export, graph=None)


def _measured(path: str, filters: Sequence[Filter]) -> _Measured:
    """Read what was measured at a port."""
    rows: list[list[dict[str, Any] | None]] = [sample[MEASURED] for sample in jinx.open(path).to_list()]
    numbers: dict[str, npt.NDArray[np.float64]] = {}
    strings: dict[str, list[str]] = {}
    for number, (operator, names) in enumerate(zip(filters, _names(filters), strict=True)):
        of_filter = [row[number] or {} for row in rows]
        for name, kind in operator.stats.items():
            values = [value for stats in of_filter for value in _elements(stats.get(name))]
            if "string" in kind:
                strings[names[name]] = values
            elif kind != "bool":
                array = np.array(values, dtype=np.float64)
                numbers[names[name]] = array[np.isfinite(array)]
    return _Measured(numbers, strings)


def _names(filters: Sequence[Filter]) -> list[dict[str, str]]:
    """A name for each statistic of each filter; two of one name have numbers."""
    taken: set[str] = set()
    found: list[dict[str, str]] = []
    for operator in filters:
        names: dict[str, str] = {}
        for name in operator.stats:
            number = 2
            names[name] = name
            while names[name] in taken:
                names[name] = f"{name} ({number})"
                number += 1
            taken.add(names[name])
        found.append(names)
    return found


def _elements(value: Any) -> list[Any]:
    elements: list[Any] = value if isinstance(value, list) else [value]
    return [element for element in elements if element is not None]


def _joined(parts: Sequence[_Measured]) -> "dict[str, npt.NDArray[np.float64]]":
    return {name: np.concatenate([part.numbers[name] for part in parts]) for name in parts[0].numbers}


def _tags(
    measured: Mapping[StepPort, _Measured], sides: Sequence[_Side], filters: Sequence[Filter]
) -> dict[str, list[tuple[str, int]]]:
    """The most frequent strings of each statistic, of the samples that reach its filter."""
    tags: dict[str, list[tuple[str, int]]] = {}
    for operator, names in zip(filters, _names(filters), strict=True):
        ports = next(
            (
                side.before if isinstance(side.operator, Filter) else side.after
                for side in sides
                if operator.stats_digest in {found.stats_digest for found in _filters_in(side.operator)}
            ),
            (),
        )
        for name, kind in operator.stats.items():
            if "string" in kind and ports:
                tags[names[name]] = tag_counts(value for port in ports for value in measured[port].strings[names[name]])
    return tags
