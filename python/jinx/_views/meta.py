"""What the writer of a dataset, or of a view, kept in the footer."""

import json
from dataclasses import dataclass
from typing import Any, cast

from jinx._core import Reader
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


def _counted(dataset: Reader) -> list[Counted]:
    recipe = dataset._recipe
    if recipe is None:
        sizes = [samples for samples, _ in dataset._identities()]
        return [one for file, samples in enumerate(sizes) if samples for one in _counted_in(dataset, file)]
    if hasattr(recipe, "files"):  # a saved view, whose own counts replace those beneath it
        own = _counted_in(recipe.files.file, 0)
        if any(one.recipe is not None for one in own):
            return own
        bases: list[Reader] = recipe.files.bases
        return [one for base in bases for one in _counted(base)] or own
    return [one for part in recipe.parts for one in _counted(part)]


def _counted_in(dataset: Reader, file: int) -> list[Counted]:
    """What a file says: a copy of samples that were counted in several ways lists them."""
    told = _of_file(dataset, file).get(COUNTED)
    every = cast("list[Any]", told) if isinstance(told, list) else [told]
    name = dataset._shard_names[file]
    return [Counted(name, cast("dict[str, Any]", one) if isinstance(one, dict) else None) for one in every]


def kept_meta(dataset: Reader) -> dict[str, Any]:
    """What a view of a dataset keeps: what the views that it shows say in common, and how its lengths were counted.

    What files say that are not views is found in them again, so that not all shards are opened for it.
    """
    kept = meta_of(dataset, only_views=True)
    kept.pop(COUNTED, None)
    if _views_count(dataset):
        recipes = [one.recipe for one in counted(dataset)]
        kept[COUNTED] = recipes[0] if len(recipes) == 1 else recipes
    return kept


def _views_count(dataset: Reader) -> bool:
    """Whether a saved view says how lengths were counted."""
    recipe = dataset._recipe
    if recipe is None:
        return False
    if hasattr(recipe, "files"):
        return COUNTED in _of_file(recipe.files.file)
    return any(_views_count(part) for part in recipe.parts)


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
