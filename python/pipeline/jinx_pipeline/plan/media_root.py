"""The default `media_root`, from which relative paths of media start."""

from dataclasses import replace
from pathlib import Path

from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.store.mirror import is_remote


def with_media_root(recipe: Recipe) -> Recipe:
    """The recipe with the directory of its input as `media_root`, or the working directory for several directories."""
    if recipe.roles.media_root is not None:
        return recipe
    folders = {_folder(source.path) for source in recipe.sources if source.query is None}
    root = folders.pop() if len(folders) == 1 else None
    return replace(recipe, roles=replace(recipe.roles, media_root="." if root is None else str(root)))


def _folder(path: str) -> Path | str | None:
    """The directory of a file or pattern, or a directory itself, also in a bucket; None for other URLs."""
    if is_remote(path):
        place = path.rstrip("/")
        parent, _, name = place.rpartition("/")
        return parent if any(character in name for character in ".*?[") else place
    if "://" in path:
        return None
    absolute = Path(path).absolute()
    if absolute.exists():
        return absolute if absolute.is_dir() else absolute.parent
    for parent in absolute.parents:
        if not any(wildcard in parent.name for wildcard in "*?[") and parent.is_dir():
            return parent
    return None
