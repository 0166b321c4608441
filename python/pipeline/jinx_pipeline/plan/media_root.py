"""Where relative paths of media start from, if the recipe does not say."""

from dataclasses import replace
from pathlib import Path

from jinx_pipeline.recipe.model import Recipe


def with_media_root(recipe: Recipe) -> Recipe:
    """The recipe with the folder of its input as `media_root`; the working directory where inputs lie in several."""
    if recipe.roles.media_root is not None:
        return recipe
    folders = {_folder(source.path) for source in recipe.sources}
    root = folders.pop() if len(folders) == 1 else None
    return replace(recipe, roles=replace(recipe.roles, media_root="." if root is None else str(root)))


def _folder(path: str) -> Path | None:
    """The folder of a file, a directory itself, and of a pattern what comes before it; None for a URL."""
    if "://" in path:
        return None
    found = Path(path).absolute()
    if found.exists():
        return found if found.is_dir() else found.parent
    for part in found.parents:
        if not any(one in part.name for one in "*?[") and part.is_dir():
            return part
    return None
