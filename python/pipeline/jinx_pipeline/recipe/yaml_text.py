"""YAML with the line of every value: plain data only, of bounded size."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from jinx_pipeline.recipe.errors import Place, RecipeError

MAX_BYTES = 1 << 20  # recipes are written by people
MAX_VALUES = 100_000  # aliases may make a small file large
MAX_DEPTH = 64


@dataclass(frozen=True)
class Located:
    """A value with its place; the members of `value` are plain, `children` has those of a mapping or list located."""

    value: Any
    place: Place
    children: dict[Any, "Located"] = field(default_factory=dict[Any, "Located"])

    def get(self, name: str) -> "Located | None":
        """A member of a mapping; None if it is absent."""
        return self.children.get(name)

    def elements(self) -> "Iterator[Located]":
        """The elements of a list."""
        yield from self.children.values()


def read_yaml(path: Path) -> Located:
    """Read a file.

    Raises:
        RecipeError: It is too large or not YAML, has a tag that asks for an object, or a key appears twice.
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise RecipeError([(Place(str(path)), f"larger than {MAX_BYTES:,} bytes; is this a recipe?")])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RecipeError([(Place(str(path)), f"not UTF-8 at byte {error.start}")]) from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, file: str | None = None) -> Located:
    """As `read_yaml`, of a string; `file` is what errors name."""
    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"not YAML: the character {chr(int(error.character))!r} is not allowed"
        raise RecipeError([(Place(file, line), what)]) from None
    try:
        node = loader.get_single_node()
        if node is None:
            raise RecipeError([(Place(file), "empty; a recipe has dataset, process and export")])
        return _Reader(loader, file).read(node, Place(file, 1), 0)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        what = getattr(error, "problem", None) or str(error)
        raise RecipeError([(Place(file, mark.line + 1 if mark else 0), f"not YAML: {what}")]) from None
    except RecursionError:
        raise RecipeError([(Place(file), f"nested more than {MAX_DEPTH} deep")]) from None
    finally:
        loader.dispose()


def located(value: Any, place: Place) -> Located:
    """Plain data as if it had been read; all of it has one line."""
    children: dict[Any, Located] = {}
    if isinstance(value, Mapping):
        members: dict[Any, Any] = {**value}
        children = {name: located(one, place.inside(str(name))) for name, one in members.items()}
    elif isinstance(value, list | tuple):
        elements: list[Any] = [*value]
        children = {at: located(one, place.inside(at)) for at, one in enumerate(elements)}
    return Located(value, place, children)


class _Reader:
    def __init__(self, loader: yaml.SafeLoader, file: str | None) -> None:
        self._loader = loader
        self._file = file
        self._values = 0
        self._outer: set[int] = set()

    def read(self, node: yaml.Node, place: Place, depth: int) -> Located:
        """A node; one that an alias in it repeats is refused before it is followed."""
        if id(node) in self._outer:
            here = Place(self._file, node.start_mark.line + 1, place.path)
            raise RecipeError([(here, "an alias here leads back to what holds it")])
        self._outer.add(id(node))
        try:
            return self._read(node, place, depth)
        finally:
            self._outer.discard(id(node))

    def _read(self, node: yaml.Node, place: Place, depth: int) -> Located:
        self._values += 1
        here = Place(self._file, node.start_mark.line + 1, place.path)
        if self._values > MAX_VALUES:
            raise RecipeError([(here, f"more than {MAX_VALUES:,} values; do aliases repeat each other?")])
        if depth > MAX_DEPTH:
            # Its path would be as long.
            raise RecipeError([(Place(self._file, here.line), f"nested more than {MAX_DEPTH} deep")])
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, here, depth)
        if isinstance(node, yaml.SequenceNode):
            self._require_tag(node, "seq", here)
            elements = {at: self.read(one, here.inside(at), depth + 1) for at, one in enumerate(node.value)}
            return Located([one.value for one in elements.values()], here, dict(elements))
        try:
            return Located(self._loader.construct_object(node), here)
        except (yaml.constructor.ConstructorError, ValueError) as error:
            what = getattr(error, "problem", None) or str(error)
            raise RecipeError([(here, f"{what}; a recipe holds plain data only")]) from None

    @staticmethod
    def _require_tag(node: yaml.Node, kind: str, here: Place) -> None:
        if node.tag != f"tag:yaml.org,2002:{kind}":
            raise RecipeError([(here, f"the tag {node.tag} is not read; a recipe holds plain data only")])

    def _mapping(self, node: yaml.MappingNode, here: Place, depth: int) -> Located:
        self._require_tag(node, "map", here)
        self._loader.flatten_mapping(node)
        members: dict[Any, Located] = {}
        for key_node, value_node in node.value:
            key = self.read(key_node, here, depth + 1)
            if isinstance(key.value, bool):
                key = Located(key_node.value, key.place)  # `on` is a name, whatever YAML 1.1 takes it for
            if not isinstance(key.value, str | int | float | None):
                raise RecipeError([(key.place, "a key is a name, not a list or a mapping")])
            if key.value in members and key_node.start_mark.line >= node.start_mark.line:
                raise RecipeError([(key.place, f"the key {key.value!r} appears twice")])
            members[key.value] = self.read(
                value_node, Place(self._file, 0, here.inside(str(key.value)).path), depth + 1
            )
        return Located({name: one.value for name, one in members.items()}, here, members)
