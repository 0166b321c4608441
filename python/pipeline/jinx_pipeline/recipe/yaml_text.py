"""Reads YAML with the line of each value; accepts only plain data of limited size."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from jinx._urls import is_readable
from jinx_pipeline.recipe.errors import Place, RecipeError

MAX_BYTES = 1 << 20  # larger than any recipe that people write
MAX_VALUES = 100_000  # aliases can make a small file large
MAX_DEPTH = 64
# YAML 1.1 reads these as octal and sexagesimal numbers: 010 is 8 and 1:30 is 90.
_OLD_NUMBER = re.compile(r"[-+]?(0[0-9_]+|[0-9_]+(:[0-9]+)+(\.[0-9_]*)?)")

_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True)
class Located:
    """A plain value with its place; `children` has the elements of a mapping or list with their places."""

    value: Any
    place: Place
    children: dict[Any, "Located"] = field(default_factory=dict[Any, "Located"])

    def get(self, name: str) -> "Located | None":
        """A member of a mapping; None if it is absent."""
        return self.children.get(name)

    def elements(self) -> "Iterator[Located]":
        """The elements of a list."""
        yield from self.children.values()


def read_yaml(path: str) -> Located:
    """Read a file, or an object in a store by its URL.

    Raises:
        RecipeError: The file is too large or not YAML, has a tag for an object, or has a key twice.
        OSError: The file cannot be read.
    """
    data = _first_bytes(path)
    if len(data) > MAX_BYTES:
        raise RecipeError([(Place(path), f"larger than {MAX_BYTES:,} bytes; is this a recipe?")])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RecipeError([(Place(path), f"not UTF-8 at byte {error.start}")]) from None
    return parse_yaml(text, path)


def _first_bytes(path: str) -> bytes:
    """The bytes of a recipe: at most one more than the limit, to detect longer ones."""
    if not is_readable(path):
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    from jinx_pipeline.store.mirror import object_store

    # Do not wait for a failing store: the run has not begun.
    found = object_store().head(path)
    end = min(found.size, MAX_BYTES + 1)
    return object_store().get_range(path, 0, end, tag=found.tag) if end else b""


def parse_yaml(text: str, file: str | None = None) -> Located:
    """Like `read_yaml`, but for a string; errors name `file`."""
    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"not YAML: the character {chr(int(error.character))!r} is not allowed"
        raise RecipeError([(Place(file, line), problem)]) from None
    try:
        node = loader.get_single_node()
        if node is None:
            raise RecipeError([(Place(file), "empty; a recipe has dataset, process and export")])
        return _Reader(loader, file).read(node, Place(file, 1), 0)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise RecipeError([(Place(file, mark.line + 1 if mark else 0), f"not YAML: {problem}")]) from None
    except RecursionError:
        raise RecipeError([(Place(file), f"nested more than {MAX_DEPTH} deep")]) from None
    finally:
        loader.dispose()


def located(value: Any, place: Place) -> Located:
    """Plain data in the same form as data read from YAML; all values have the same line."""
    children: dict[Any, Located] = {}
    if isinstance(value, Mapping):
        members: dict[Any, Any] = {**value}
        children = {name: located(member, place.inside(str(name))) for name, member in members.items()}
    elif isinstance(value, list | tuple):
        elements: list[Any] = [*value]
        children = {index: located(element, place.inside(index)) for index, element in enumerate(elements)}
    return Located(value, place, children)


class _Reader:
    def __init__(self, loader: yaml.SafeLoader, file: str | None) -> None:
        self._loader = loader
        self._file = file
        self._values = 0
        self._outer: set[int] = set()
        # By the id of a mapping, the number of its first keys that came from `<<`.
        self._merged: dict[int, int] = {}

    def read(self, node: yaml.Node, place: Place, depth: int) -> Located:
        """Read a node; refuse an alias that refers to an enclosing node."""
        if id(node) in self._outer:
            node_place = Place(self._file, node.start_mark.line + 1, place.path)
            raise RecipeError([(node_place, "an alias here leads back to a mapping or list that contains it")])
        self._outer.add(id(node))
        try:
            return self._read(node, place, depth)
        finally:
            self._outer.discard(id(node))

    def _read(self, node: yaml.Node, place: Place, depth: int) -> Located:
        self._values += 1
        node_place = Place(self._file, node.start_mark.line + 1, place.path)
        if self._values > MAX_VALUES:
            raise RecipeError([(node_place, f"more than {MAX_VALUES:,} values; do aliases repeat each other?")])
        if depth > MAX_DEPTH:
            # Leave the path out of the message: it would be as long as the nesting is deep.
            raise RecipeError([(Place(self._file, node_place.line), f"nested more than {MAX_DEPTH} deep")])
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, node_place, depth)
        if isinstance(node, yaml.SequenceNode):
            self._require_tag(node, "seq", node_place)
            elements = {
                index: self.read(element, node_place.inside(index), depth + 1)
                for index, element in enumerate(node.value)
            }
            return Located([element.value for element in elements.values()], node_place, dict(elements))
        try:
            value = self._loader.construct_object(node)
        except (yaml.constructor.ConstructorError, ValueError) as error:
            problem = getattr(error, "problem", None) or str(error)
            raise RecipeError([(node_place, f"{problem}; a recipe holds plain data only")]) from None
        if isinstance(value, int | float) and _OLD_NUMBER.fullmatch(node.value):
            problem = f"YAML reads {node.value} as the number {value}; write {value}, or quote it if it is a string"
            raise RecipeError([(node_place, problem)])
        return Located(value, node_place)

    @staticmethod
    def _require_tag(node: yaml.Node, kind: str, place: Place) -> None:
        if node.tag != f"tag:yaml.org,2002:{kind}":
            raise RecipeError([(place, f"the tag {node.tag} is not read; a recipe holds plain data only")])

    def _mapping(self, node: yaml.MappingNode, place: Place, depth: int) -> Located:
        self._require_tag(node, "map", place)
        if id(node) not in self._merged:
            # Another alias may read this mapping again, and then the merged keys are already in it.
            own = sum(key.tag != _MERGE for key, _ in node.value)
            self._loader.flatten_mapping(node)
            self._merged[id(node)] = len(node.value) - own
        members: dict[Any, Located] = {}
        own_keys: set[Any] = set()
        for number, (key_node, value_node) in enumerate(node.value):
            key = self.read(key_node, place, depth + 1)
            if isinstance(key.value, bool):
                key = Located(key_node.value, key.place)  # `on` is a string here; YAML 1.1 reads it as a boolean
            if not isinstance(key.value, str | int | float | None):
                raise RecipeError([(key.place, "a key is a name, not a list or a mapping")])
            # The keys of `<<` come first, and the mapping's own keys replace them.
            if key.value in own_keys:
                raise RecipeError([(key.place, f"the key {key.value!r} appears twice")])
            if number >= self._merged[id(node)]:
                own_keys.add(key.value)
            members[key.value] = self.read(
                value_node, Place(self._file, 0, place.inside(str(key.value)).path), depth + 1
            )
        return Located({name: member.value for name, member in members.items()}, place, members)
