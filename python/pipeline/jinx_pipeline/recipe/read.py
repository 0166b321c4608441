"""A recipe from YAML or plain data, checked as a whole: each mistake is reported with its place.

Reading runs no code and opens no file that a recipe names; `recipe/resolve.py` does that.
"""

import os
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from jinx._sizes import parse_size
from jinx._suggest import hint
from jinx_pipeline.operators.api.registry import UnknownOperatorError
from jinx_pipeline.operators.api.unloaded_operator import UnloadedOperator
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.export import Export, ExportKind
from jinx_pipeline.recipe.lower_graph import Lowered, NodeReaders, lowered
from jinx_pipeline.recipe.make_operator import step_of
from jinx_pipeline.recipe.model import Options, Recipe, SourceSpec, Step, TableQuery
from jinx_pipeline.recipe.output_kind import kind_of, refuse_other_name
from jinx_pipeline.recipe.read_graph import read_graph
from jinx_pipeline.recipe.read_models import read_models
from jinx_pipeline.recipe.recipe_parameters import values_of
from jinx_pipeline.recipe.yaml_text import Located, located, read_yaml
from jinx_pipeline.sample.roles import Roles

if TYPE_CHECKING:
    from jinx_pipeline.sample.validators import Validator

_SECTIONS = ("dataset", "validators", "models", "process", "export")
_GRAPH_SECTIONS = ("dataset", "validators", "models", "parameters", "nodes", "flows")
_SIZES = {"shard_size", "memory"}
_QUERY_KEYS = [field.name for field in fields(TableQuery)]
_SOURCE_KEYS = [field.name for field in fields(SourceSpec) if field.name != "query"]
_ROLE_NAMES = [role.name for role in fields(Roles)]
FUSED = {"general_fused_op", "fused_sequential_batch_op"}
"""Entries of Data-Juicer's recipes that list operators; they are read as these operators, which the planner fuses."""


def read_recipe(
    path: str | os.PathLike[str],
    *,
    parameters: Mapping[str, Any] | None = None,
    models: Mapping[str, str] | None = None,
    **overrides: Any,
) -> Recipe:
    """Read a recipe; paths in it are relative to the working directory.

    Code that the recipe names is not run, and files that it names are not opened: `resolve` (or `Run`) loads the
    operators of `custom_operators` later.

    Args:
        path: A YAML file, or the URL of one.
        parameters: Values for the parameters that the recipe declares.
        models: Paths that replace those of the recipe's models.
        **overrides: Options that replace those of the file; None keeps them.

    Raises:
        RecipeError: The recipe has mistakes; the message has a line for each.
        OSError: The file cannot be read.
    """
    given = {name: located(value, Place(path=f"parameter {name}")) for name, value in (parameters or {}).items()}
    return _Checker(str(path)).recipe(read_yaml(str(path)), overrides, given, models or {})


def recipe_of(data: Mapping[str, Any], **overrides: Any) -> Recipe:
    """Like `read_recipe`, but from a dict of the same form."""
    return _Checker(None).recipe(located(data, Place()), overrides, {}, {})


class _Checker:
    def __init__(self, file: str | None) -> None:
        self._file = file
        self._problems: list[tuple[Place, str]] = []

    def recipe(
        self,
        root: Located,
        overrides: Mapping[str, Any],
        given: Mapping[str, Located],
        model_paths: Mapping[str, str],
    ) -> Recipe:
        if not isinstance(root.value, dict):
            raise RecipeError([(root.place, "a recipe is a mapping with dataset, process and export")])
        # Sections that begin with `x-` are for YAML anchors, as in Compose files.
        children = {name: child for name, child in root.children.items() if not str(name).startswith("x-")}
        root = replace(root, children=children)
        is_graph = "nodes" in root.children
        sections = _GRAPH_SECTIONS if is_graph else _SECTIONS
        self._refuse_unknown(root, [*sections, *(option.name for option in fields(Options))], "a recipe")
        options = self._options(root, overrides)
        self._source_places: list[Place] = []
        self._names_code = bool(options.custom_operators)
        self._models = read_models(root.get("models"), model_paths, self._problems)
        if is_graph:
            return self._graph(root, options, given)
        for value in given.values():
            self._problems.append((value.place, "only a recipe with nodes and flows has parameters"))
        sources, roles = self._dataset(root.get("dataset"), root.place)
        steps = self._process(root.get("process"), root.place)
        export = self._export(root.get("export"))
        validators = self._validators(root.get("validators"))
        if self._problems:
            raise RecipeError(self._problems)
        places = tuple(self._source_places) if self._file else ()
        return Recipe(
            tuple(sources),
            roles,
            tuple(steps),
            export,
            options,
            self._file,
            validators=tuple(validators),
            source_places=places,
            code_place=root.children.get("custom_operators", root).place if self._names_code else None,
            models=self._models,
        )

    def _graph(self, root: Located, options: Options, given: Mapping[str, Located]) -> Recipe:
        """The recipe of nodes and flows."""
        values = values_of(root.get("parameters"), given, self._problems, "the recipe")
        dataset = root.get("dataset")
        roles = Roles() if dataset is None else self._roles(values.substituted(dataset))
        graph = read_graph(root, values, self._problems)
        parts = Lowered()
        if not self._problems:
            readers = NodeReaders(self._node_sources, self._node_steps, self._export)
            parts = lowered(graph, readers, self._problems)
        validators = self._validators(root.get("validators"))
        if self._problems:
            raise RecipeError(self._problems)
        return Recipe(
            tuple(parts.sources),
            roles,
            tuple(parts.steps),
            parts.outputs[0].export,
            options,
            self._file,
            validators=tuple(validators),
            source_places=tuple(self._source_places) if self._file else (),
            code_place=root.children.get("custom_operators", root).place if self._names_code else None,
            outputs=tuple(parts.outputs),
            source_groups=tuple(parts.source_groups),
            graph=graph.to_data(),
            models=self._models,
        )

    # Methods that read the contents of nodes.

    def _node_sources(self, section: Located) -> list[SourceSpec]:
        if isinstance(section.value, dict) and "sources" in section.value:
            self._refuse_unknown(section, ["sources"], "a source node")
            return self._sources(section)
        spec = self._source(section)
        return [] if spec is None else [spec]

    def _node_steps(self, section: Located) -> list[Step]:
        steps = self._process(section, section.place)
        if isinstance(section.value, list) and not section.value:
            self._problems.append((section.place, "a list of at least one operator"))
        return steps

    # Methods that read sections.

    def _options(self, root: Located, overrides: Mapping[str, Any]) -> Options:
        values = self._values(root, Options, skip=(*_SECTIONS, *_GRAPH_SECTIONS))
        values |= {name: value for name, value in overrides.items() if value is not None}
        if overrides.get("ray_address") is not None and values.get("engine", "local") == "local":
            self._problems.append((Place(), "ray_address is for the engine ray: engine='ray' (--engine ray)"))
        try:
            return Options(**values)
        except (TypeError, ValueError) as error:
            name = str(error).split(" ", 1)[0]
            self._problems.append((root.children.get(name, root).place, str(error)))
            return Options()

    def _dataset(self, section: Located | None, root: Place) -> tuple[list[SourceSpec], Roles]:
        if section is None:
            self._problems.append((root, "no dataset; write for instance dataset: {path: in.jinx}"))
            return [], Roles()
        if isinstance(section.value, str):
            self._source_places.append(section.place)
            return [SourceSpec(section.value)], Roles()
        if not isinstance(section.value, dict):
            self._problems.append((section.place, "a path, or a mapping with path or sources"))
            return [], Roles()
        self._refuse_unknown(section, ["path", "sources", *_ROLE_NAMES], "dataset")
        return self._sources(section), self._role_values(section)

    def _roles(self, section: Located) -> Roles:
        """The text and media columns, for all sources of a graph."""
        if not isinstance(section.value, dict):
            self._problems.append((section.place, "a mapping with text, images and others; sources are nodes here"))
            return Roles()
        self._refuse_unknown(section, _ROLE_NAMES, "the dataset of a recipe with nodes")
        return self._role_values(section)

    def _role_values(self, section: Located) -> Roles:
        values = self._values(section, Roles, skip=("path", "sources"))
        try:
            return Roles(**values)
        except (ValueError, TypeError) as error:
            self._problems.append((section.place, str(error)))
            return Roles()

    def _sources(self, section: Located) -> list[SourceSpec]:
        path, sources = section.get("path"), section.get("sources")
        if (path is None) == (sources is None):
            self._problems.append((section.place, "either path, or sources with a path each"))
            return []
        if path is not None:
            if isinstance(path.value, str):
                self._source_places.append(path.place)
                return [SourceSpec(path.value)]
            self._problems.append((path.place, f"a path, not {path.value!r}"))
            return []
        specs: list[SourceSpec] = []
        for source in sources.elements() if sources is not None and isinstance(sources.value, list) else []:
            spec = self._source(source)
            specs += [] if spec is None else [spec]
        if sources is not None and not sources.value:
            self._problems.append((sources.place, "a list of sources"))
        return specs

    def _source(self, source: Located) -> SourceSpec | None:
        self._source_places.append(source.place)
        if isinstance(source.value, str):
            return SourceSpec(source.value)
        if isinstance(source.value, dict) and "query" in source.value:
            return self._query(source)
        if isinstance(source.value, dict) and isinstance(source.value.get("path"), str):
            self._refuse_unknown(source, _SOURCE_KEYS, "a source")
            try:
                return SourceSpec(**self._values(source, SourceSpec))
            except ValueError as error:
                self._problems.append((source.place, str(error)))
                return None
        self._problems.append((source.place, "a path, or a mapping with path, weight and max_samples"))
        return None

    def _query(self, source: Located) -> SourceSpec | None:
        """A source that runs a query."""
        self._refuse_unknown(source, [*_QUERY_KEYS, *_SOURCE_KEYS[1:]], "a query")
        missing = [name for name in _QUERY_KEYS if name not in source.value]
        if missing:
            self._problems.append((source.place, f"a query has database, query and columns; {missing[0]} is missing"))
            return None
        try:
            query = TableQuery(**{name: source.value[name] for name in _QUERY_KEYS})
            return SourceSpec(query.name, query=query, **self._values(source, SourceSpec, skip=("path", "query")))
        except (TypeError, ValueError) as error:
            self._problems.append((source.place, str(error)))
            return None

    def _process(self, section: Located | None, root: Place) -> list[Step]:
        if section is None or section.value is None:
            return []
        if not isinstance(section.value, list):
            self._problems.append((section.place if section else root, "a list of operators"))
            return []
        return [step for entry in section.elements() for step in self._steps(entry)]

    def _steps(self, entry: Located) -> list[Step]:
        """The steps of an entry: one, or all steps that a fused entry lists."""
        name = next(iter(entry.children), None) if isinstance(entry.value, dict) and len(entry.value) == 1 else None
        if name not in FUSED:
            step = self._step(entry)
            return [] if step is None else [step]
        operators = entry.children[name].get("fused_op_list")
        if operators is None or not isinstance(operators.value, list):
            self._problems.append((entry.place, f"{name} has no fused_op_list, a list of operators"))
            return []
        return [step for inner in operators.elements() for step in self._steps(inner)]

    def _step(self, entry: Located) -> Step | None:
        parameters: Located | None = None
        name: Any = entry.value
        if isinstance(entry.value, dict) and len(entry.value) == 1:
            name, parameters = next(iter(entry.children.items()))
        if not isinstance(name, str):
            self._problems.append((entry.place, "an operator: its name, or {name: {parameter: value}}"))
            return None
        place = parameters.place if parameters is not None else entry.place.inside(name)
        values: Any = parameters.value if parameters is not None else None
        if values is not None and not isinstance(values, dict):
            self._problems.append((place, f"the parameters of {name} are a mapping, not {values!r}"))
            return None
        places = {} if parameters is None else {str(key): member.place for key, member in parameters.children.items()}
        try:
            return step_of(name, values or {}, place, places, self._problems, models=self._models)
        except UnknownOperatorError as error:
            if self._names_code:
                return Step(UnloadedOperator.named(name, values or {}), place, places)
            self._problems.append((place, str(error)))
            return None

    def _validators(self, section: Located | None) -> "list[Validator]":
        if section is None or section.value is None:
            return []
        from jinx_pipeline.sample.validators import VALIDATORS

        if not isinstance(section.value, list):
            self._problems.append((section.place, f"a list of checks: {', '.join(VALIDATORS)}"))
            return []
        validators: list[Validator] = []
        for entry in section.elements():
            name: Any = entry.value
            parameters: Any = None
            if isinstance(entry.value, dict) and len(entry.value) == 1:
                name, parameters = next(iter(entry.value.items()))
            if not isinstance(name, str) or name not in VALIDATORS:
                near = hint(str(name), VALIDATORS) or f"; there are: {', '.join(VALIDATORS)}"
                self._problems.append((entry.place, f"no check {name!r}{near}"))
                continue
            if parameters is not None and not isinstance(parameters, dict):
                names = [field for field in get_type_hints(VALIDATORS[name]) if field != "name"]
                advice = f"write {name}: {{{names[0]}: ...}}" if names else "it has no parameters"
                self._problems.append((entry.place, f"the parameters of {name} are a mapping; {advice}"))
                continue
            try:
                validators.append(VALIDATORS[name](**(parameters or {})))
            except (TypeError, ValueError) as error:
                self._problems.append((entry.place, f"{name}: {error}"))
        return validators

    def _export(self, section: Located | None) -> Export | None:
        if section is None or section.value is None:
            return None
        if isinstance(section.value, str):
            return self._named_export(section.value, section.place)
        if not isinstance(section.value, dict):
            self._problems.append((section.place, "a path, or a mapping with path"))
            return None
        self._refuse_unknown(section, [field.name for field in fields(Export)], "export")
        values = self._values(section, Export)
        if "path" not in values:
            self._problems.append((section.place, "export has no path"))
            return None
        return self._named_export(values.pop("path"), section.children["path"].place, **values)

    def _named_export(self, path: str, place: Place, kind: ExportKind | None = None, **options: Any) -> Export | None:
        """An output with the given kind, or the kind that follows from its name."""
        try:
            if kind is not None:
                refuse_other_name(path, kind)
            return Export(path, kind or kind_of(path), **options)
        except (TypeError, ValueError) as error:
            self._problems.append((place, str(error)))
            return None

    # Methods that read values.

    def _refuse_unknown(self, section: Located, known: list[str], title: str) -> None:
        for name, child in section.children.items():
            if name not in known:
                near = hint(str(name), known) or f"; it has: {', '.join(known)}"
                self._problems.append((child.place, f"{title} has no {name!r}{near}"))

    def _values(self, section: Located, kind: type[Any], skip: tuple[str, ...] = ()) -> dict[str, Any]:
        """The values in a section for the fields of a dataclass, with checked types."""
        hints = get_type_hints(kind)
        values: dict[str, Any] = {}
        for field in fields(kind):
            member = section.get(field.name)
            if member is None or field.name in skip:
                continue
            value = tuple(member.value) if isinstance(member.value, list) else member.value
            if isinstance(member.value, str) and get_origin(hints[field.name]) is tuple:
                value = (member.value,)
            try:
                values[field.name] = _fitting(field.name, value, hints[field.name])
            except (ValueError, TypeError) as error:
                default = "" if field.default is MISSING else f" (default: {field.default!r})"
                self._problems.append((member.place, f"{error}{default}"))
        return values


def _fitting(name: str, value: Any, kind: Any) -> Any:
    from jinx_pipeline.operators.api.parameters import fitted

    if name in _SIZES and value is not None:
        parse_size(value if isinstance(value, int | str) else str(value))
    if get_origin(kind) is Literal and value not in get_args(kind):
        raise ValueError(
            f"{name} is one of {', '.join(map(str, get_args(kind)))}, not {value!r}{hint(str(value), get_args(kind))}"
        )
    try:
        return value if isinstance(value, tuple) else fitted(value, kind)
    except TypeError as error:
        raise TypeError(f"{name} {error}") from None
