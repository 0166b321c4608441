"""What the writer of a dataset, or of a view, kept in the footer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from jinx import _core
from jinx._core import Reader
from jinx._dataset.summary import path_of
from jinx.errors import JinxError

# The member in which annotate says how it counted the lengths of samples.
COUNTED = "annotate"


@dataclass(frozen=True)
class Counted:
    """How the lengths of the samples of a file were counted.

    Attributes:
        file: The file, as it was named.
        recipe: What annotate says; None: nothing.
    """

    file: str
    recipe: dict[str, Any] | None


def counted(dataset: Reader) -> list[Counted]:
    """How the lengths in a dataset were counted: each way once, with the first file that says it."""
    found: list[Counted] = []
    for one in _counted(dataset):
        if all(one.recipe != known.recipe for known in found):
            found.append(one)
    return found


def lengths_text(dataset: Reader) -> str | None:
    """How the lengths in a dataset were counted, as JSON text for views of it; None if nothing is known."""
    ways = [one.recipe for one in counted(dataset)]
    return json.dumps(ways[0] if len(ways) == 1 else ways) if any(way is not None for way in ways) else None


def columns_counted(meta: Mapping[str, Any]) -> list[str]:
    """The columns of which a `meta` says that lengths were counted."""
    ways = [one.recipe for one in _ways("", meta.get(COUNTED))]
    return [name for way in ways if way is not None for name in way.get("columns", [])]


def meta_after(meta: Mapping[str, Any], replaced: Sequence[str]) -> dict[str, Any]:
    """A `meta` of samples of which some columns got other values."""
    kept = {name: value for name, value in meta.items() if name != COUNTED}
    if meta.get(COUNTED) is None:
        return kept
    text = _core.lengths_after(json.dumps(meta[COUNTED]), replaced)
    return kept if text is None else {**kept, COUNTED: json.loads(text)}


def _counted(dataset: Reader) -> list[Counted]:
    recipe = dataset._recipe
    if recipe is None:
        sizes = [samples for samples, _ in dataset._identities()]
        return [one for file, samples in enumerate(sizes) if samples for one in _counted_in(dataset, file)]
    if hasattr(recipe, "files"):  # a saved view, whose own counts replace those beneath it
        file: Reader = recipe.files.file
        own = _counted_in(file, 0)
        if any(one.recipe is not None for one in own):
            return own
        bases: list[Reader] = recipe.files.bases
        found = [one for base in bases for one in _counted(base)]
        # The file of an empty view names all columns as its own.
        return _after(found, file._stored_names() if file._base_len() else []) or own
    if recipe.lengths is not None:
        return _ways(path_of(dataset), json.loads(recipe.lengths))
    replaced = [name for name, _ in recipe.own] if len(dataset) else []
    return _after([one for part in recipe.parts for one in _counted(part)], replaced)


def _after(found: list[Counted], replaced: list[str]) -> list[Counted]:
    """The same where a view shows other values of some columns."""
    if not replaced:
        return found
    texts = [
        (one.file, None if one.recipe is None else _core.lengths_after(json.dumps(one.recipe), replaced))
        for one in found
    ]
    return [Counted(file, None if text is None else json.loads(text)) for file, text in texts]


def _counted_in(dataset: Reader, file: int) -> list[Counted]:
    """What a file says: a copy of samples that were counted in several ways lists them."""
    return _ways(dataset._shard_names[file], _of_file(dataset, file).get(COUNTED))


def _ways(file: str, told: Any) -> list[Counted]:
    every = cast("list[Any]", told) if isinstance(told, list) else [told]
    return [Counted(file, cast("dict[str, Any]", one) if isinstance(one, dict) else None) for one in every]


def kept_meta(dataset: Reader) -> dict[str, Any]:
    """What a view of a dataset keeps: what the views that it shows say in common, and how its lengths were counted.

    What files say that are not views is found in them again, so that not all shards are opened for it.
    """
    kept = meta_of(dataset, only_views=True)
    kept.pop(COUNTED, None)
    text = lengths_text(dataset) if _views_count(dataset) else None
    return kept if text is None else {**kept, COUNTED: json.loads(text)}


def _views_count(dataset: Reader) -> bool:
    """Whether how lengths were counted is said by more than the files beneath all views."""
    recipe = dataset._recipe
    if recipe is None:
        return False
    if hasattr(recipe, "files"):
        return COUNTED in _of_file(recipe.files.file)
    # Of several parts, one may have columns of its own that replace those of its files alone.
    is_mixed = len(recipe.parts) > 1 and any(part._recipe is not None for part in recipe.parts)
    return recipe.lengths is not None or is_mixed or any(_views_count(part) for part in recipe.parts)


def meta_of(dataset: Reader, *, only_views: bool = False) -> dict[str, Any]:
    """The `meta` of a dataset's first file, or of the saved view beneath it; of several only what all of them say.

    Args:
        dataset: A dataset or view.
        only_views: Leave out what files say that are not views.
    """
    recipe = dataset._recipe
    if recipe is None:
        return {} if only_views else _of_file(dataset)
    if hasattr(recipe, "files"):  # a saved view
        return _of_file(recipe.files.file)
    found = [meta_of(part, only_views=only_views) for part in recipe.parts]
    return {name: value for name, value in found[0].items() if all(other.get(name) == value for other in found[1:])}


def _of_file(dataset: Reader, file: int = 0) -> dict[str, Any]:
    try:
        return json.loads(dataset._footer(file)).get("meta") or {}
    except (JinxError, IndexError):  # MDS, or a dataset of no files
        return {}
