"""Reads what to compare from a YAML file."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from jinx._suggest import hint
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.recipe.read import recipe_of
from jinx_pipeline.recipe.yaml_text import Located, read_yaml

CONTROLS: Final = ("all samples", "random samples")
_KEYS: Final = ("dataset", "variants", "train", "eval", "budgets", "eta", "seeds", "goal", "seconds", "work_dir")
_PLACEHOLDERS: Final = {"data": "x", "samples": 1, "seed": 0, "out": "x"}


@dataclass(frozen=True)
class Sweep:
    """A parameter of a filter with several values.

    Attributes:
        parameter: The filter and its parameter, such as `text_length_filter.min_len`.
        values: The values to try; empty to search between `low` and `high`.
        low: The smallest value.
        high: The largest value.
        trials: How many values to try in a search.
    """

    parameter: str
    values: tuple[float, ...] = ()
    low: float = 0.0
    high: float = 0.0
    trials: int = 0


@dataclass(frozen=True)
class Variant:
    """A recipe that is compared with others.

    Attributes:
        name: Its name.
        process: Its operators, as in a recipe.
        sweep: A parameter with several values; None if it has none.
        place: Its place in the file.
    """

    name: str
    process: list[Any]
    sweep: Sweep | None = None
    place: Place = field(default_factory=Place)


@dataclass(frozen=True)
class Spec:
    """The specification of a comparison.

    Attributes:
        dataset: The dataset section of all recipes.
        variants: The recipes.
        train: The command that trains a model: its words, with `{data}`, `{samples}`, `{seed}` and `{out}`.
        evaluate: The command that prints its score.
        budgets: How many samples the models see, in increasing order: after each, the best variants remain.
        eta: After each budget, one of this many variants remains.
        seeds: How often each model is trained.
        goal: Whether a large score is good, or a small one.
        seconds: How long a command may run.
        work_dir: The directory for everything; None: next to the file.
    """

    dataset: dict[str, Any]
    variants: tuple[Variant, ...]
    train: tuple[str, ...]
    evaluate: tuple[str, ...]
    budgets: tuple[int, ...]
    eta: int = 3
    seeds: int = 3
    goal: Literal["max", "min"] = "max"
    seconds: float = 24 * 3600.0
    work_dir: str | None = None

    def recipe(self, process: Sequence[Any], out: Path) -> Recipe:
        """The recipe of a variant."""
        return recipe_of(
            {"dataset": self.dataset, "process": list(process), "export": {"path": str(out), "kind": "view"}}
        )


def read_spec(path: Path) -> Spec:
    """Read and check a file.

    Raises:
        RecipeError: It has mistakes; the message has a line for each.
        OSError: It cannot be read.
    """
    return _Checker(read_yaml(str(path))).spec()


class _Checker:
    def __init__(self, root: Located) -> None:
        self._root = root
        self._problems: list[tuple[Place, str]] = []

    def spec(self) -> Spec:
        root = self._root
        if not isinstance(root.value, dict):
            raise RecipeError([(root.place, f"a mapping with {', '.join(_KEYS[:5])}")])
        for name, child in root.children.items():
            if name not in _KEYS:
                near = hint(str(name), _KEYS) or f"; there are: {', '.join(_KEYS)}"
                self._say(child, f"there is no {name!r} here{near}")
        dataset = root.value.get("dataset")
        variants = self._variants()
        budgets = self._numbers("budgets", [])
        spec = Spec(
            {"path": dataset} if isinstance(dataset, str) else dataset if isinstance(dataset, dict) else {},
            variants,
            self._command("train", "{data}"),
            self._command("eval", "{out}"),
            tuple(budgets),
            self._number("eta", 3, 2),
            self._number("seeds", 3, 2),
            self._goal(),
            float(self._number("seconds", 24 * 3600, 1)),
            None if root.value.get("work_dir") is None else str(root.value["work_dir"]),
        )
        if not spec.dataset:
            self._problems.append((root.place, "dataset is a path, or a mapping as in a recipe"))
        if not budgets or budgets != sorted(set(budgets)) or budgets[0] < 1:
            self._problems.append(
                (root.place, "budgets is a list of increasing numbers of samples, such as [300, 900]")
            )
        if not self._problems:
            self._check_recipes(spec)
        if self._problems:
            raise RecipeError(self._problems)
        return spec

    def _say(self, at: Located, message: str) -> None:
        self._problems.append((at.place, message))

    def _variants(self) -> tuple[Variant, ...]:
        section = self._root.get("variants")
        if section is None or not isinstance(section.value, dict) or not section.value:
            self._problems.append((self._root.place, "variants is a mapping from names to lists of operators"))
            return ()
        return tuple(
            variant for name, content in section.children.items() if (variant := self._variant(str(name), content))
        )

    def _variant(self, name: str, content: Located) -> Variant | None:
        value: Any = content.value
        process = value.get("process") if isinstance(value, dict) else value
        if name in CONTROLS or not isinstance(process, list):
            self._say(
                content, "a list of operators, or a mapping with process and sweep; controls are added by themselves"
            )
            return None
        sweep = value.get("sweep") if isinstance(value, dict) else None
        try:
            return Variant(name, process, None if sweep is None else _sweep(sweep), content.place)
        except ValueError as error:
            self._say(content, str(error))
            return None

    def _check_recipes(self, spec: Spec) -> None:
        for variant in spec.variants:
            try:
                for process in [variant.process] if variant.sweep is None else [with_value(variant, _probe(variant))]:
                    spec.recipe(process, Path("x.jinx"))
            except RecipeError as error:
                self._problems += [(variant.place, f"{place.path}: {message}") for place, message in error.problems]
            except ValueError as error:
                self._problems.append((variant.place, str(error)))

    def _command(self, name: str, needed: str) -> tuple[str, ...]:
        value: Any = self._root.value.get(name)
        words = shlex.split(value) if isinstance(value, str) else value
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            self._problems.append((self._root.place, f"{name} is a command, such as: python {name}.py {needed}"))
            return ()
        try:
            [word.format(**_PLACEHOLDERS) for word in words]
        except (KeyError, IndexError, ValueError, AttributeError):
            self._say(
                self._root.children[name],
                f"{name} may hold {{data}}, {{samples}}, {{seed}} and {{out}}; braces are {{{{ and }}}}",
            )
        if not any(needed in word for word in words):
            self._say(self._root.children[name], f"{name} needs {needed}")
        return tuple(words)

    def _number(self, name: str, default: int, least: int) -> int:
        value = self._root.value.get(name, default)
        if type(value) is not int or value < least:
            self._say(self._root.children[name], f"{name} is a whole number of at least {least}")
            return default
        return value

    def _numbers(self, name: str, default: list[int]) -> list[int]:
        value = self._root.value.get(name, default)
        return value if isinstance(value, list) and all(type(number) is int for number in value) else []

    def _goal(self) -> Literal["max", "min"]:
        value = self._root.value.get("goal", "max")
        if value not in {"max", "min"}:
            self._say(self._root.children["goal"], "goal is max or min")
        return "min" if value == "min" else "max"


def _sweep(data: Any) -> Sweep:
    """A sweep: `{text_length_filter.min_len: [10, 30]}`, or `{...: {low: 1, high: 9, trials: 10}}`.

    Raises:
        ValueError: It is something else.
    """
    advice = "sweep is {filter.parameter: [values]}, or {filter.parameter: {low: 1, high: 9, trials: 10}}"
    if not isinstance(data, Mapping) or len(data) != 1:
        raise ValueError(advice)
    ((parameter, values),) = data.items()
    if not isinstance(parameter, str) or parameter.count(".") != 1:
        raise ValueError(advice)
    if isinstance(values, list) and values and all(isinstance(value, int | float) for value in values):
        return Sweep(parameter, tuple(values))
    if isinstance(values, Mapping) and set(values) == {"low", "high", "trials"}:
        return Sweep(parameter, low=values["low"], high=values["high"], trials=values["trials"])
    raise ValueError(advice)


def _probe(variant: Variant) -> float:
    sweep = variant.sweep
    return 0 if sweep is None else sweep.values[0] if sweep.values else sweep.low


def with_value(variant: Variant, value: float) -> list[Any]:
    """The operators of a variant with one value of its sweep.

    Raises:
        ValueError: The recipe has no such filter.
    """
    if variant.sweep is None:
        return variant.process
    name, _, parameter = variant.sweep.parameter.partition(".")
    process: list[Any] = []
    is_there = False
    for step in variant.process:
        step_name = next(iter(step)) if isinstance(step, dict) and len(step) == 1 else step
        if step_name != name:
            process.append(step)
            continue
        is_there = True
        given = step[name] if isinstance(step, dict) and isinstance(step[name], dict) else {}
        process.append({name: {**given, parameter: value}})
    if not is_there:
        raise ValueError(f"sweep: the variant {variant.name} has no {name}")
    return process
