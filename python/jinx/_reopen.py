"""Unpickling: pickles name this module and `jinx`, and no other module of ours.

The names here never change, so that later versions read the pickles of this one, wherever their classes are defined.
"""

from importlib import import_module
from typing import Any, TypeVar

from jinx._core import MismatchError, Reader

D = TypeVar("D", bound=Reader)

_MODULES = {
    "ArrayColumn": "jinx._dataset.added_columns",
    "ArrowColumn": "jinx._dataset.added_columns",
    "FunctionColumn": "jinx._dataset.added_columns",
    "JoinedColumn": "jinx._dataset.added_columns",
    "ListColumn": "jinx._dataset.added_columns",
    "Recipe": "jinx._dataset.recipe",
    "SavedView": "jinx._views.open",
    "KeepColumns": "jinx._dataset.transforms",
    "MediaDecoder": "jinx._dataset.decode_media",
    "MergeIntoSample": "jinx._dataset.transforms",
}


def rebuild(name: str, *arguments: Any) -> Any:
    """Make an object of one of our classes from its arguments."""
    return getattr(import_module(_MODULES[name]), name)(*arguments)


def reopen_dataset(kind: type[D], paths: list[str], options: dict[str, Any], state: dict[str, Any]) -> D:
    """Open a pickled dataset again.

    Raises:
        MismatchError: The files are not those of the dataset that was pickled.
    """
    opened = open_again(kind, paths, options, state["identities"])
    return opened._derive(
        indices=state["indices"], columns=state["columns"], transforms=state["transforms"], decoders=state["decoders"]
    )


def open_again(kind: type[D], paths: list[str], options: dict[str, Any], identities: list[tuple[int, str]]) -> D:
    """Open files of which it is known what they must be. Many files are compared one by one, at their first access.

    Raises:
        MismatchError: The files are others now.
    """
    # The split decides which shards count, so with a split all are opened now; otherwise each at its first access. Of
    # MDS only the index is read.
    expected = identities if options.get("split") is None and options.get("mds") is None else None
    opened = kind(paths, **options, expected=expected)
    known = sum(samples for samples, _ in identities)
    if opened._base_len() != known or (expected is None and opened._identities() != identities):
        from jinx._dataset.summary import path_of

        raise MismatchError(f"{path_of(opened)}: the files changed since they were first opened; open them again")
    return opened


def reopen_view(kind: type[D], recipe: Any, state: dict[str, Any]) -> D:
    """Make a pickled view of several datasets, or one with columns of its own, again."""
    return kind()._derive(
        rows=recipe.rows(),
        recipe=recipe,
        lazy=state["lazy"],
        indices=state["indices"],
        columns=state["columns"],
        transforms=state["transforms"],
        decoders=state["decoders"],
    )
