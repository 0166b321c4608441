"""A recipe from YAML or plain data, checked as a whole: every mistake is reported with its place."""

import os
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from jinx._sizes import parse_size
from jinx._suggest import hint
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import UnknownOperatorError, create, load_file
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.model import (
    REQUESTS,
    Export,
    ExportKind,
    Options,
    Recipe,
    RequestError,
    SourceSpec,
    Step,
    step_of,
)
from jinx_pipeline.recipe.output_kind import kind_of, refuse_other_name
from jinx_pipeline.recipe.yaml_text import Located, located, read_yaml
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.sample.validators import VALIDATORS, Validator

_SECTIONS = ("dataset", "validators", "process", "export")
_SIZES = {"shard_size", "memory"}
FUSED = {"general_fused_op", "fused_sequential_batch_op"}
"""Lists of operators in Data-Juicer's recipes: read as the operators, because the planner fuses all that it can."""


def read_recipe(path: str | os.PathLike[str], **overrides: Any) -> Recipe:
    """Read a recipe; paths in it are relative to the working directory.

    Args:
        path: A YAML file.
        **overrides: Options in place of those of the file, where they are not None.

    Raises:
        RecipeError: Something in it is wrong; the message has a line for each mistake.
        OSError: It cannot be read.
    """
    return _Checker(str(path)).recipe(read_yaml(Path(path)), overrides)


def recipe_of(data: Mapping[str, Any], **overrides: Any) -> Recipe:
    """As `read_recipe`, from a dict of the same form."""
    return _Checker(None).recipe(located(data, Place()), overrides)


class _Checker:
    def __init__(self, file: str | None) -> None:
        self._file = file
        self._problems: list[tuple[Place, str]] = []

    def recipe(self, root: Located, overrides: Mapping[str, Any]) -> Recipe:
        if not isinstance(root.value, dict):
            raise RecipeError([(root.place, "a recipe is a mapping with dataset, process and export")])
        # They hold anchors, as in Compose files.
        children = {name: one for name, one in root.children.items() if not str(name).startswith("x-")}
        root = replace(root, children=children)
        known = [*_SECTIONS, *(one.name for one in fields(Options))]
        self._refuse_unknown(root, known, "a recipe")
        options = self._options(root, overrides)
        self._source_places: list[Place] = []
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
        )

    # Sections.

    def _options(self, root: Located, overrides: Mapping[str, Any]) -> Options:
        values = self._values(root, Options, skip=_SECTIONS)
        values |= {name: value for name, value in overrides.items() if value is not None}
        if overrides.get("ray_address") is not None and values.get("engine", "local") == "local":
            self._problems.append((Place(), "ray_address is for the engine ray: engine='ray' (--engine ray)"))
        for path in values.get("custom_operators", ()):
            try:
                load_file(path)
            except Exception as error:  # noqa: BLE001 - it is somebody's code
                place = root.children.get("custom_operators", root).place
                self._problems.append((place, f"{path}: {type(error).__name__}: {error}"))
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
        role_names = [one.name for one in fields(Roles)]
        self._refuse_unknown(section, ["path", "sources", *role_names], "dataset")
        sources = self._sources(section)
        values = self._values(section, Roles, skip=("path", "sources"))
        try:
            return sources, Roles(**values)
        except (ValueError, TypeError) as error:
            self._problems.append((section.place, str(error)))
            return sources, Roles()

    def _sources(self, section: Located) -> list[SourceSpec]:
        path, several = section.get("path"), section.get("sources")
        if (path is None) == (several is None):
            self._problems.append((section.place, "either path, or sources with a path each"))
            return []
        if path is not None:
            if isinstance(path.value, str):
                self._source_places.append(path.place)
                return [SourceSpec(path.value)]
            self._problems.append((path.place, f"a path, not {path.value!r}"))
            return []
        found: list[SourceSpec] = []
        for one in several.elements() if several is not None and isinstance(several.value, list) else []:
            self._source_places.append(one.place)
            if isinstance(one.value, str):
                found.append(SourceSpec(one.value))
            elif isinstance(one.value, dict) and isinstance(one.value.get("path"), str):
                self._refuse_unknown(one, [field.name for field in fields(SourceSpec)], "a source")
                try:
                    found.append(SourceSpec(**self._values(one, SourceSpec)))
                except ValueError as error:
                    self._problems.append((one.place, str(error)))
            else:
                self._problems.append((one.place, "a path, or a mapping with path, weight and max_samples"))
        if several is not None and not several.value:
            self._problems.append((several.place, "a list of sources"))
        return found

    def _process(self, section: Located | None, root: Place) -> list[Step]:
        if section is None or section.value is None:
            return []
        if not isinstance(section.value, list):
            self._problems.append((section.place if section else root, "a list of operators"))
            return []
        return [step for one in section.elements() for step in self._steps(one)]

    def _steps(self, one: Located) -> list[Step]:
        """The operator of an entry, or those that a fused one lists."""
        name = next(iter(one.children), None) if isinstance(one.value, dict) and len(one.value) == 1 else None
        if name not in FUSED:
            step = self._step(one)
            return [] if step is None else [step]
        listed = one.children[name].get("fused_op_list")
        if listed is None or not isinstance(listed.value, list):
            self._problems.append((one.place, f"{name} has no fused_op_list, a list of operators"))
            return []
        return [step for inner in listed.elements() for step in self._steps(inner)]

    def _step(self, one: Located) -> Step | None:
        parameters: Located | None = None
        name: Any = one.value
        if isinstance(one.value, dict) and len(one.value) == 1:
            name, parameters = next(iter(one.children.items()))
        if not isinstance(name, str):
            self._problems.append((one.place, "an operator: its name, or {name: {parameter: value}}"))
            return None
        place = parameters.place if parameters is not None else one.place.inside(name)
        given: Any = parameters.value if parameters is not None else None
        if given is not None and not isinstance(given, dict):
            self._problems.append((place, f"the parameters of {name} are a mapping, not {given!r}"))
            return None
        given = dict(given or {})
        requests = {key: given.pop(key) for key in REQUESTS if key in given}
        try:
            return step_of(create(name, **given), place, **requests)
        except RequestError as error:
            member = parameters.get(error.name) if parameters is not None else None
            self._problems.append((place if member is None else member.place, f"{name}: {error}"))
        except UnknownOperatorError as error:
            self._problems.append((place, str(error)))
        except ParameterError as error:
            self._parameter_problems(name, place, parameters, error)
        except (ImportError, OSError, TypeError, ValueError) as error:
            self._problems.append((place, f"{name}: {error}"))
        return None

    def _parameter_problems(self, name: str, place: Place, parameters: Located | None, error: ParameterError) -> None:
        """The mistakes in an operator's parameters: each shows when those before it are left out."""
        given = (parameters.value or {}) if parameters is not None else {}
        rest: dict[str, Any] = {key: value for key, value in given.items() if key not in REQUESTS}
        while True:
            member = parameters.get(error.parameter) if parameters is not None else None
            self._problems.append((member.place if member is not None else place, str(error)))
            if error.parameter not in rest:
                return
            del rest[error.parameter]
            try:
                create(name, **rest)
            except ParameterError as another:
                if another.parameter == error.parameter:  # now it is missing
                    return
                error = another
            except (ImportError, OSError, TypeError, ValueError):
                return
            else:
                return

    def _validators(self, section: Located | None) -> list[Validator]:
        if section is None or section.value is None:
            return []
        if not isinstance(section.value, list):
            self._problems.append((section.place, f"a list of checks: {', '.join(VALIDATORS)}"))
            return []
        found: list[Validator] = []
        for one in section.elements():
            name: Any = one.value
            parameters: Any = None
            if isinstance(one.value, dict) and len(one.value) == 1:
                name, parameters = next(iter(one.value.items()))
            if not isinstance(name, str) or name not in VALIDATORS:
                near = hint(str(name), VALIDATORS) or f"; there are: {', '.join(VALIDATORS)}"
                self._problems.append((one.place, f"no check {name!r}{near}"))
                continue
            if parameters is not None and not isinstance(parameters, dict):
                names = [one for one in get_type_hints(VALIDATORS[name]) if one != "name"]
                what = f"write {name}: {{{names[0]}: ...}}" if names else "it has no parameters"
                self._problems.append((one.place, f"the parameters of {name} are a mapping; {what}"))
                continue
            try:
                found.append(VALIDATORS[name](**(parameters or {})))
            except (TypeError, ValueError) as error:
                self._problems.append((one.place, f"{name}: {error}"))
        return found

    def _export(self, section: Located | None) -> Export | None:
        if section is None or section.value is None:
            return None
        if isinstance(section.value, str):
            return self._named_export(section.value, section.place)
        if not isinstance(section.value, dict):
            self._problems.append((section.place, "a path, or a mapping with path"))
            return None
        self._refuse_unknown(section, [one.name for one in fields(Export)], "export")
        values = self._values(section, Export)
        if "path" not in values:
            self._problems.append((section.place, "export has no path"))
            return None
        return self._named_export(values.pop("path"), section.children["path"].place, **values)

    def _named_export(self, path: str, place: Place, kind: ExportKind | None = None, **more: Any) -> Export | None:
        """An output whose kind is given, or said by its name."""
        try:
            if kind is not None:
                refuse_other_name(path, kind)
            return Export(path, kind or kind_of(path), **more)
        except (TypeError, ValueError) as error:
            self._problems.append((place, str(error)))
            return None

    # Values.

    def _refuse_unknown(self, section: Located, known: list[str], what: str) -> None:
        for name, one in section.children.items():
            if name not in known:
                near = hint(str(name), known) or f"; it has: {', '.join(known)}"
                self._problems.append((one.place, f"{what} has no {name!r}{near}"))

    def _values(self, section: Located, kind: type[Any], skip: tuple[str, ...] = ()) -> dict[str, Any]:
        """The members of a section that are fields of a dataclass, with their types checked."""
        hints = get_type_hints(kind)
        found: dict[str, Any] = {}
        for field in fields(kind):
            one = section.get(field.name)
            if one is None or field.name in skip:
                continue
            value = tuple(one.value) if isinstance(one.value, list) else one.value
            if isinstance(one.value, str) and get_origin(hints[field.name]) is tuple:
                value = (one.value,)
            try:
                found[field.name] = _fitting(field.name, value, hints[field.name])
            except (ValueError, TypeError) as error:
                default = "" if field.default is MISSING else f" (default: {field.default!r})"
                self._problems.append((one.place, f"{error}{default}"))
        return found


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
