"""The recipes that come with the package, by name; each cleans a kind of corpus."""

from pathlib import Path

from jinx._suggest import hint

_FOLDER = Path(__file__).parents[1] / "recipes"


def shipped() -> dict[str, str]:
    """The purpose of each recipe, by name."""
    paths = sorted(_FOLDER.glob("*.yaml"), key=lambda path: path.stem)
    return {path.stem: path.read_text("utf-8").partition("\n")[0].strip("# ") for path in paths}


def shipped_or_file(recipe: str) -> str:
    """The path or URL of a recipe: the name itself if it exists, otherwise the shipped recipe of this name.

    Raises:
        FileNotFoundError: Neither exists, but there is a shipped recipe with a similar name.
    """
    path, own = Path(recipe), _FOLDER / f"{recipe}.yaml"
    if path.exists() or path.name != recipe:
        return recipe
    if own.is_file():
        return str(own)
    near = hint(recipe.replace("_", "-"), [file.stem for file in _FOLDER.glob("*.yaml")])
    if near and not path.suffix:
        raise FileNotFoundError(f"{recipe}: no such file or recipe{near}")
    return recipe
