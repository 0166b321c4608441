"""Rules for the number of tokens and patches of an image by its size, as in common model families."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

from jinx._annotate.counting_settings import function_setting
from jinx._suggest import hint

_YES = {"yes", "true", "1"}
_NO = {"no", "false", "0"}
_MAX_ASPECT = 200
_HASH_DIGITS = 12


class ImageRule(Protocol):
    """The cost of an image by its size."""

    def __call__(self, width: int, height: int) -> tuple[int, int]:
        """(tokens for the language model, patches for the vision encoder)."""
        ...

    @property
    def text(self) -> str:
        """The rule as text, which is stored and compared."""
        ...


@dataclass(frozen=True)
class FixedRule:
    """Resizes every image to one size.

    Attributes:
        tokens: Tokens of an image.
        patches: Patches of an image; 0: the same number as tokens.
    """

    kind: ClassVar[str] = "fixed"
    tokens: int = 0
    patches: int = 0

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ValueError(f"tokens={self.tokens}: write fixed:64 for 64 tokens per image")

    def __call__(self, width: int, height: int) -> tuple[int, int]:
        del width, height
        return self.tokens, self.patches or self.tokens

    @property
    def text(self) -> str:
        return _written(self)


@dataclass(frozen=True)
class TilesRule:
    """Cuts the image into square tiles, as InternVL does; the grid is the one that fits the aspect ratio best.

    Attributes:
        size: Side of a tile in pixels.
        max: The maximum number of tiles, without the thumbnail.
        thumbnail: Whether an image of several tiles also has a tile of the whole image.
        tokens: Tokens of a tile.
        patch: Side of a patch in pixels.
    """

    kind: ClassVar[str] = "tiles"
    size: int = 448
    max: int = 12
    thumbnail: bool = True
    tokens: int = 256
    patch: int = 14

    def __post_init__(self) -> None:
        if min(self.size, self.max, self.tokens, self.patch) < 1 or self.patch > self.size:
            raise ValueError(f"{self.text}: size, max, tokens and patch are at least 1, and patch at most size")

    def __call__(self, width: int, height: int) -> tuple[int, int]:
        columns, rows = self.grid(width, height)
        tiles = columns * rows + (self.thumbnail and columns * rows > 1)
        return tiles * self.tokens, tiles * (self.size // self.patch) ** 2

    def grid(self, width: int, height: int) -> tuple[int, int]:
        """(columns, rows) with the nearest aspect ratio; of equally near grids, the largest that the image fills."""
        aspect, area = width / height, width * height
        best, distance = (1, 1), math.inf
        for tiles in range(1, self.max + 1):
            for columns in range(1, tiles + 1):
                if tiles % columns:
                    continue
                off = abs(aspect - columns * columns / tiles)
                fills = area > 0.5 * self.size**2 * tiles
                if off < distance or (off == distance and fills):
                    best, distance = (columns, tiles // columns), off
        return best

    @property
    def text(self) -> str:
        return _written(self)


@dataclass(frozen=True)
class PatchesRule:
    """Keeps the image's aspect ratio and resizes it to a whole number of merged patches, as for Qwen-VL.

    Attributes:
        patch: Side of a patch in pixels.
        merge: Patches along a side that become one token.
        min_pixels: Smaller images are enlarged.
        max_pixels: Larger images are reduced.
    """

    kind: ClassVar[str] = "qwen-vl"
    patch: int = 14
    merge: int = 2
    min_pixels: int = 56 * 56
    max_pixels: int = 14 * 14 * 4 * 1280

    def __post_init__(self) -> None:
        if min(self.patch, self.merge, self.min_pixels) < 1 or self.max_pixels < self.min_pixels:
            raise ValueError(f"{self.text}: all are at least 1, and max_pixels is at least min_pixels")

    def __call__(self, width: int, height: int) -> tuple[int, int]:
        wide, high = self.resized(width, height)
        patches = (wide // self.patch) * (high // self.patch)
        return patches // self.merge**2, patches

    def resized(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) in pixels after resizing.

        Raises:
            ValueError: One side is more than 200 times the other.
        """
        if max(width, height) > _MAX_ASPECT * min(width, height):
            raise ValueError(
                f"an image of {width} x {height} pixels: one side is more than {_MAX_ASPECT} times the other"
            )
        unit = self.patch * self.merge
        wide, high = (max(unit, round(side / unit) * unit) for side in (width, height))
        if wide * high > self.max_pixels:
            scale = math.sqrt(width * height / self.max_pixels)
            wide, high = (max(unit, math.floor(side / scale / unit) * unit) for side in (width, height))
        elif wide * high < self.min_pixels:
            scale = math.sqrt(self.min_pixels / (width * height))
            wide, high = (math.ceil(side * scale / unit) * unit for side in (width, height))
        return wide, high

    @property
    def text(self) -> str:
        return _written(self)


@dataclass(frozen=True)
class FunctionRule:
    """A function of width and height that returns tokens, or (tokens, patches)."""

    function: Callable[[int, int], Any]

    def __call__(self, width: int, height: int) -> tuple[int, int]:
        cost = self.function(width, height)
        tokens, patches = cost if isinstance(cost, tuple) else (cost, cost)  # pyright: ignore[reportUnknownVariableType]
        return int(tokens), int(patches)  # pyright: ignore[reportUnknownArgumentType]

    @property
    def text(self) -> str:
        setting = function_setting(self.function)
        return f"function {setting['name']} ({setting['hash'][:_HASH_DIGITS]})"


_RULES = {rule.kind: rule for rule in (FixedRule, TilesRule, PatchesRule)}


def parse_image_rule(rule: str | Callable[[int, int], Any] | None) -> ImageRule | None:
    """The rule for a text such as `"fixed:64"` or `"tiles:size=512,max=9,tokens=64,thumbnail=no"`, or for a function.

    Raises:
        ValueError: The string is not a rule, or sets a parameter that the rule does not have.
    """
    if rule is None or rule == "none":
        return None
    if not isinstance(rule, str):
        return rule if isinstance(rule, FixedRule | TilesRule | PatchesRule | FunctionRule) else FunctionRule(rule)
    kind, _, parameters = rule.partition(":")
    if kind not in _RULES:
        raise ValueError(f"the image rule {rule!r} is not known{hint(kind, _RULES)}; use {', '.join(_RULES)} or none")
    rule_class = _RULES[kind]
    types: dict[str, Any] = {field.name: field.type for field in fields(rule_class)}
    values: dict[str, Any] = {}
    for part in filter(None, parameters.split(",")):
        name, equals, value = part.partition("=")
        if not equals and rule_class is FixedRule:
            name, value = "tokens", part
        if name not in types:
            raise ValueError(f"the image rule {rule!r}: {kind} has no {name!r}; it has {', '.join(types)}")
        values[name] = _value(rule, name, value.strip().lower(), is_flag=types[name] in {bool, "bool"})
    return rule_class(**values)


def _value(rule: str, name: str, value: str, *, is_flag: bool) -> int | bool:
    if is_flag and value in _YES | _NO:
        return value in _YES
    if is_flag or not value.isdigit():
        raise ValueError(f"the image rule {rule!r}: {name} is {'yes or no' if is_flag else 'a whole number'}")
    return int(value)


def _written(rule: FixedRule | TilesRule | PatchesRule) -> str:
    """The rule as text with all parameters, defaults included, so that equal rules have equal texts."""
    values: Mapping[str, Any] = {field.name: getattr(rule, field.name) for field in fields(rule)}
    words = {True: "yes", False: "no"}
    return f"{rule.kind}:" + ",".join(
        f"{name}={words[value] if isinstance(value, bool) else value}" for name, value in values.items()
    )
