"""A dataset with its files opened otherwise."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jinx._dataset.recipe import Recipe

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset


def reopened(dataset: "Dataset", **options: Any) -> "Dataset":
    """The same view over the same files, opened with other options, such as `verify="full"`."""
    recipe = dataset._recipe
    if recipe is None:
        rebuild, (kind, paths, known, state) = dataset.__reduce__()
        return rebuild(kind, paths, {**known, **options}, state)
    if isinstance(recipe, Recipe):
        whole = replace(recipe, parts=tuple(reopened(part, **options) for part in recipe.parts))
    else:
        whole = replace(recipe, options={**recipe.options, **options}, file=None)
    return dataset._derive(rows=whole.rows(), recipe=whole, indices=dataset._indices, columns=dataset._shown_columns)
