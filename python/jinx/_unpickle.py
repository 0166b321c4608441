"""Functions that pickles call when they are loaded. Pickles name only this module and `jinx`.

The names here must not change: later versions read the pickles of this one, even after classes have moved.
"""

from importlib import import_module
from typing import Any, TypeVar

from jinx._core import MismatchError, Reader

D = TypeVar("D", bound=Reader)

_MODULES = {
    "ArrayColumn": "jinx._dataset.added_columns",
    "ArrowColumn": "jinx._dataset.added_columns",
    "CategoryColumn": "jinx._dataset.added_columns",
    "FunctionColumn": "jinx._dataset.added_columns",
    "JoinedColumn": "jinx._dataset.added_columns",
    "ListColumn": "jinx._dataset.added_columns",
    "ViewDefinition": "jinx._dataset.view_definition",
    "SavedView": "jinx._saved_views.open",
    "SavedViews": "jinx._saved_views.open",
    "KeepColumns": "jinx._dataset.transforms",
    "MediaDecoder": "jinx._dataset.decode_media",
    "MergeIntoSample": "jinx._dataset.transforms",
}


def rebuild(name: str, *arguments: Any) -> Any:
    """Make an object of the class `name` from its arguments."""
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
    """Open files and require these identities. Many files are compared one by one, at their first access.

    Raises:
        MismatchError: The files have changed.
    """
    # With a split, open all shards now, because their splits decide which shards count. Otherwise, open and compare
    # each shard at its first access. For MDS, only the index is read.
    expected = identities if options.get("split") is None and options.get("mds") is None else None
    opened = kind(paths, **options, expected=expected)
    expected_samples = sum(samples for samples, _ in identities)
    if opened._base_len() != expected_samples or (expected is None and opened._identities() != identities):
        from jinx._dataset.summary import path_of

        raise MismatchError(f"{path_of(opened)}: the files changed since they were first opened; open them again")
    return opened


def reopen_view(kind: type[D], definition: Any, state: dict[str, Any]) -> D:
    """Make a view of several datasets, or a view with columns of its own, from its pickle."""
    return kind()._derive(
        rows=definition.rows(),
        definition=definition,
        lazy=state["lazy"],
        indices=state["indices"],
        columns=state["columns"],
        transforms=state["transforms"],
        decoders=state["decoders"],
    )
