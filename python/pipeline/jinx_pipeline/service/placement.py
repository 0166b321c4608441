"""Clients' recipes: their file names are replaced by paths, and forbidden requests are refused.

A recipe is changed while it is plain data, and checked again after it was read, so that nothing depends on where a
recipe can hold a path.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from jinx_pipeline.catalog.trust import file_parameters, why_trusted
from jinx_pipeline.operators.api.annotation import ENVIRONMENT
from jinx_pipeline.operators.api.registry import UnknownOperatorError, operator_class
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.model import Recipe, SourceSpec, Step
from jinx_pipeline.recipe.read import FUSED, recipe_of
from jinx_pipeline.recipe.yaml_text import parse_yaml
from jinx_pipeline.service.datasets import has_base_outside
from jinx_pipeline.service.errors import ServiceError
from jinx_pipeline.service.roots import Roots

Problems = list[tuple[str, str]]

_OPTIONS: Final = frozenset(
    {"seed", "batch_rows", "block_rows", "max_bad_rows", "stop_after_bad", "trace", "reorder", "row_seconds"}
)
_SECTIONS: Final = frozenset({"dataset", "validators", "process", "export", "nodes", "flows", "parameters"})
_REFUSED_ROLES: Final = ("media_outside", "url_hosts")
# Options of language models that contain directories, or environment variables of the service.
_REFUSED_OF_MODELS: Final = frozenset({"answers", "batch", "collect", "key_variable"})
_NOT_PUBLIC: Final = "is not available here: it {why}; the service can allow it with --allow {name}"


@dataclass(frozen=True)
class Placed:
    """A client's recipe, ready to run.

    Attributes:
        data: The recipe with paths of this machine, as plain data.
        recipe: The same, checked.
        reads: What it reads, by the client's names.
        writes: What it writes, by the client's names.
    """

    data: dict[str, Any]
    recipe: Recipe
    reads: list[str]
    writes: list[str]


def recipe_data(recipe: str | Mapping[str, Any]) -> dict[str, Any]:
    """A recipe as plain data, from YAML or from data.

    Raises:
        ServiceError: It is not a mapping.
    """
    try:
        value = parse_yaml(recipe).value if isinstance(recipe, str) else recipe
    except RecipeError as error:
        raise refused(error) from None
    if not isinstance(value, Mapping):
        raise ServiceError(422, "bad_recipe", "a recipe is a mapping with dataset, process and export")
    return json.loads(json.dumps(value, default=str))


def place(recipe: str | Mapping[str, Any], roots: Roots, allowed: Collection[str]) -> Placed:
    """Check a client's recipe, and replace its file names by paths.

    Args:
        recipe: The recipe, as YAML or plain data; files are named as `ROOT/path`.
        roots: The directories.
        allowed: Operators that run code or connect to servers and are allowed nevertheless.

    Raises:
        ServiceError: The recipe has mistakes, or does something that is not allowed.
    """
    placing = _Placing(roots, allowed)
    data = placing.data(recipe_data(recipe))
    if placing.problems:
        raise _bad_recipe(placing.problems)
    try:
        checked = recipe_of(data)
    except RecipeError as error:
        raise refused(error, roots) from None
    problems = _problems_of(checked, roots, allowed)
    if problems:
        raise _bad_recipe(problems)
    return Placed(data, checked, placing.reads, placing.writes)


def refused(error: RecipeError, roots: Roots | None = None) -> ServiceError:
    """The response to a recipe with mistakes."""
    problems = [(place.path, message) for place, message in error.problems]
    if roots is not None:
        problems = [(path, roots.hidden(message)) for path, message in problems]
    return _bad_recipe(problems)


def _bad_recipe(problems: Problems) -> ServiceError:
    listed = tuple({"path": path, "message": message} for path, message in problems)
    return ServiceError(422, "bad_recipe", "the recipe has mistakes", listed)


class _Placing:
    """Replaces the names of files in a recipe by paths."""

    def __init__(self, roots: Roots, allowed: Collection[str]) -> None:
        self._roots, self._allowed = roots, allowed
        self.problems: Problems = []
        self.reads: list[str] = []
        self.writes: list[str] = []

    def data(self, data: dict[str, Any]) -> dict[str, Any]:
        """The recipe with file names replaced by paths."""
        for name in data:
            if name not in _SECTIONS | _OPTIONS and not str(name).startswith("x-"):
                self.problems.append((str(name), "cannot be set here; the service sets it"))
        nodes = data.get("nodes")
        placed = dict(data)
        if "dataset" in data:
            placed["dataset"] = self._dataset(data["dataset"], Place().inside("dataset"))
        if "process" in data:
            placed["process"] = self._process(data["process"], Place().inside("process"))
        if "export" in data:
            placed["export"] = self._export(data["export"], Place().inside("export"))
        if isinstance(nodes, dict):
            at = Place().inside("nodes")
            placed["nodes"] = {name: self._node(node, at.inside(str(name))) for name, node in nodes.items()}
        return placed

    def _node(self, node: Any, at: Place) -> Any:
        if not isinstance(node, dict):
            return node
        placed = dict(node)
        for kind, content in node.items():
            inside = at.inside(str(kind))
            if kind == "source":
                placed[kind] = self._dataset(content, inside)
            elif kind == "operators":
                placed[kind] = self._process(content, inside)
            elif kind == "join" and isinstance(content, dict):
                placed[kind] = self._parameters("join", content, inside)
            elif kind == "sink":
                placed[kind] = self._export(content, inside)
            elif kind == "include":
                self.problems.append((inside.path, "recipes cannot be included here; write the nodes out"))
        return placed

    def _dataset(self, section: Any, at: Place) -> Any:
        if isinstance(section, str):
            return self._read(section, at)
        if isinstance(section, list):
            return [self._dataset(source, at.inside(number)) for number, source in enumerate(section)]
        if not isinstance(section, dict):
            return section
        placed = dict(section)
        for name in ("path", "sources", "media_root"):
            if section.get(name) is not None:
                placed[name] = self._dataset(section[name], at.inside(name))
        for name in (*_REFUSED_ROLES, "query", "database"):
            if section.get(name):
                self.problems.append((at.inside(name).path, "is not allowed here"))
        return placed

    def _process(self, steps: Any, at: Place) -> Any:
        if not isinstance(steps, list):
            return steps
        return [self._step(step, at.inside(number)) for number, step in enumerate(steps)]

    def _step(self, step: Any, at: Place) -> Any:
        if not isinstance(step, dict) or len(step) != 1:
            return step
        ((name, parameters),) = step.items()
        if not isinstance(parameters, dict):
            return step
        inside = at.inside(str(name))
        if name in FUSED:
            return {name: {**parameters, "fused_op_list": self._process(parameters.get("fused_op_list"), inside)}}
        return {name: self._parameters(str(name), parameters, inside)}

    def _parameters(self, name: str, parameters: dict[str, Any], at: Place) -> dict[str, Any]:
        try:
            kinds = file_parameters(operator_class(name))
        except UnknownOperatorError:
            return parameters  # reading the recipe reports the error
        placed = dict(parameters)
        for parameter, kind in kinds.items():
            value = parameters.get(parameter)
            if not value:
                continue
            inside = at.inside(parameter)
            if kind == "written":
                self.problems.append((inside.path, "writes files beside the output; leave it out"))
            elif isinstance(value, list):
                placed[parameter] = [self._read(path, inside) for path in value]
            else:
                placed[parameter] = self._read(value, inside)
        return placed

    def _export(self, section: Any, at: Place) -> Any:
        if not self._roots.writable:
            self.problems.append((at.path, "there is no directory for outputs here; leave it out to try the recipe"))
            return section
        if isinstance(section, str):
            return self._write(section, at)
        if not isinstance(section, dict):
            return section
        for option in ("overwrite", "append"):
            if section.get(option):
                self.problems.append((at.inside(option).path, "outputs are never replaced here; choose another path"))
        return {**section, "path": self._write(section.get("path"), at.inside("path"))}

    def _read(self, name: Any, at: Place) -> Any:
        return self._replaced(name, at, self._roots.existing, self.reads)

    def _write(self, name: Any, at: Place) -> Any:
        return self._replaced(name, at, self._roots.new, self.writes)

    def _replaced(self, name: Any, at: Place, path_of: Any, names: list[str]) -> Any:
        if not isinstance(name, str):
            return name  # reading the recipe reports the error
        try:
            path = str(path_of(name))
        except ServiceError as error:
            self.problems.append((at.path, error.detail))
            return name
        names.append(name)
        return path


def _problems_of(recipe: Recipe, roots: Roots, allowed: Collection[str]) -> Problems:
    """The problems of a checked recipe: what a client's recipe may not contain."""
    problems = [problem for step in recipe.steps for problem in _problems_of_step(step, roots, allowed)]
    if any(_is_outside(source, roots) for source in recipe.sources):
        problems.append(("dataset", "a source lies outside of the roots"))
    roles = recipe.roles
    if roles.media_outside or roles.url_hosts or (roles.media_root and not roots.holds(roles.media_root)):
        problems.append(("dataset", "media may not lie outside of the roots"))
    if recipe.options.custom_operators or recipe.options.engine != "local" or recipe.options.work_dir:
        problems.append(("", "code, clusters and working directories cannot be set here"))
    if any(export.overwrite or export.append or not roots.holds(export.path) for export in recipe.exports):
        problems.append(("export", "the output lies outside of the directories for outputs"))
    if not recipe.exports and roots.writable:
        problems.append(("export", "the recipe has no export; write for instance export: {path: OUT/good.jinx}"))
    return problems


def _is_outside(source: SourceSpec, roots: Roots) -> bool:
    return source.query is not None or not roots.holds(source.path) or has_base_outside(source.path, roots)


def _problems_of_step(step: Step, roots: Roots, allowed: Collection[str]) -> Problems:
    operator = step.operator
    why = "" if operator.name in allowed else why_trusted(type(operator))
    problems: Problems = []
    if why:
        problems.append((step.place.path, f"{operator.name} {_NOT_PUBLIC.format(why=why, name=operator.name)}"))
    for option in sorted(_REFUSED_OF_MODELS.intersection(operator.parameters.get("model_params") or ())):
        problems.append((step.place.path, f"model_params.{option} cannot be set here; the service sets it"))
    if str(operator.parameters.get("webhook")).startswith(ENVIRONMENT):
        problems.append((step.place.path, "webhook names a URL here, and no variable of the service"))
    for file in operator.needed_files:
        if _is_given(operator, file.parameter) and not roots.holds(file.path):
            problems.append((step.place.path, f"{file.parameter} lies outside of the roots"))
    return problems


def _is_given(operator: Any, parameter: str) -> bool:
    """Whether a parameter differs from its default, which is a file of the package; `group.member` in a group."""
    name, *members = parameter.split(".")
    value = getattr(operator, name, None)
    if not members:
        return value != getattr(type(operator), name, None)
    for member in members:
        if not isinstance(value, Mapping) or member not in value:
            return False
        value = cast("Mapping[str, Any]", value)[member]
    return True
