"""The recipes that come with the package, by name: cleaning for kinds of corpora."""

from pathlib import Path

from jinx._suggest import hint

_FOLDER = Path(__file__).parents[1] / "recipes"


def shipped() -> dict[str, str]:
    """What each recipe is for, by name."""
    return {
        path.stem: path.read_text("utf-8").partition("\n")[0].strip("# ") for path in sorted(_FOLDER.glob("*.yaml"))
    }


def shipped_or_file(recipe: str) -> Path:
    """The file of a recipe: that of this path, or without one the shipped one of this name.

    Raises:
        FileNotFoundError: There is neither, but a shipped one of a similar name.
    """
    path, own = Path(recipe), _FOLDER / f"{recipe}.yaml"
    if path.exists() or path.name != recipe:
        return path
    if own.is_file():
        return own
    near = hint(recipe.replace("_", "-"), [one.stem for one in _FOLDER.glob("*.yaml")])
    if near and not path.suffix:
        raise FileNotFoundError(f"{recipe}: no such file or recipe{near}")
    return path
