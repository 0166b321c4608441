"""What the writer of a dataset, or of a view, kept in the footer."""

import json
from typing import Any

from jinx._core import Reader
from jinx.errors import JinxError


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


def _of_file(dataset: Reader) -> dict[str, Any]:
    try:
        return json.loads(dataset._footer(0)).get("meta") or {}
    except (JinxError, IndexError):  # MDS, or a dataset of no files
        return {}
