"""The recipes that come with the package, by name: cleaning for kinds of corpora."""

from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "recipes"


def shipped() -> dict[str, str]:
    """What each recipe is for, by name."""
    return {
        path.stem: path.read_text("utf-8").partition("\n")[0].strip("# ") for path in sorted(_FOLDER.glob("*.yaml"))
    }


def shipped_or_file(recipe: str) -> Path:
    """The file of a recipe: that of this path, or without one the shipped one of this name."""
    path, own = Path(recipe), _FOLDER / f"{recipe}.yaml"
    is_shipped = not path.exists() and Path(recipe).name == recipe and own.is_file()
    return own if is_shipped else path
