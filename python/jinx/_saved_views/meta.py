"""The `meta` in the footers of datasets and saved views, including the settings of lengths."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from jinx import _core
from jinx._core import Reader
from jinx._dataset.summary import path_of
from jinx.errors import JinxError

# The metadata entry for the settings with which `annotate` counted the lengths.
COUNTED = "annotate"


@dataclass(frozen=True)
class Counted:
    """How the lengths of the samples of a file were counted.

    Attributes:
        file: The file, as the user named it.
        settings: The settings of `jinx annotate`; None if the file has none.
    """

    file: str
    settings: dict[str, Any] | None


def counted(dataset: Reader) -> list[Counted]:
    """The different ways in which the lengths of a dataset were counted, each with the first file that records it."""
    distinct: list[Counted] = []
    for entry in _counted(dataset):
        if all(entry.settings != earlier.settings for earlier in distinct):
            distinct.append(entry)
    return distinct


def lengths_text(dataset: Reader) -> str | None:
    """The settings of the lengths in a dataset, as JSON text for views of it; None if unknown."""
    ways = [entry.settings for entry in counted(dataset)]
    return json.dumps(ways[0] if len(ways) == 1 else ways) if any(way is not None for way in ways) else None


def columns_counted(meta: Mapping[str, Any]) -> list[str]:
    """The columns with counted lengths, according to a `meta`."""
    ways = [entry.settings for entry in _ways("", meta.get(COUNTED))]
    return [name for way in ways if way is not None for name in way.get("columns", [])]


def meta_after(meta: Mapping[str, Any], replaced: Sequence[str]) -> dict[str, Any]:
    """The `meta` after some columns of the samples have got other values."""
    kept = {name: value for name, value in meta.items() if name != COUNTED}
    if meta.get(COUNTED) is None:
        return kept
    text = _core.lengths_after(json.dumps(meta[COUNTED]), replaced)
    return kept if text is None else {**kept, COUNTED: json.loads(text)}


def _counted(dataset: Reader) -> list[Counted]:
    definition = dataset._definition
    if definition is None:
        sizes = [samples for samples, _ in dataset._identities()]
        return [entry for file, samples in enumerate(sizes) if samples for entry in _counted_in(dataset, file)]
    if hasattr(definition, "files"):  # a saved view: its own counts replace those of its bases
        file: Reader = definition.files.file
        own = _counted_in(file, 0)
        if any(entry.settings is not None for entry in own):
            return own
        bases: list[Reader] = definition.files.bases
        below = [entry for base in bases for entry in _counted(base)]
        # The file of an empty view lists all columns as its own.
        return _after(below, file._stored_names() if file._base_len() else []) or own
    if definition.lengths is not None:
        return _ways(path_of(dataset), json.loads(definition.lengths))
    replaced = [name for name, _ in definition.own] if len(dataset) else []
    return _after([entry for part in definition.parts for entry in _counted(part)], replaced)


def _after(entries: list[Counted], replaced: list[str]) -> list[Counted]:
    """The entries for a view that replaces the values of some columns."""
    if not replaced:
        return entries
    texts = [
        (entry.file, None if entry.settings is None else _core.lengths_after(json.dumps(entry.settings), replaced))
        for entry in entries
    ]
    return [Counted(file, None if text is None else json.loads(text)) for file, text in texts]


def _counted_in(dataset: Reader, file: int) -> list[Counted]:
    """The settings of lengths in a file: several if it is a copy of samples that were counted differently."""
    return _ways(dataset._shard_names[file], _of_file(dataset, file).get(COUNTED))


def _ways(file: str, stored: Any) -> list[Counted]:
    """The settings of lengths in an entry of `meta`."""
    ways = cast("list[Any]", stored) if isinstance(stored, list) else [stored]
    return [
        Counted(file, cast("dict[str, Any]", settings) if isinstance(settings, dict) else None) for settings in ways
    ]


def kept_meta(dataset: Reader) -> dict[str, Any]:
    """The `meta` for a saved view of a dataset: what the views below it have in common, and the settings of lengths.

    The `meta` of other files is not copied: it can be read there, and copying it would open all shards.
    """
    kept = meta_of(dataset, only_views=True)
    kept.pop(COUNTED, None)
    text = lengths_text(dataset) if _views_count(dataset) else None
    return kept if text is None else {**kept, COUNTED: json.loads(text)}


def _views_count(dataset: Reader) -> bool:
    """Whether views record how lengths were counted, and not only the files below them."""
    definition = dataset._definition
    if definition is None:
        return False
    if hasattr(definition, "files"):
        return COUNTED in _of_file(definition.files.file)
    # If there are several parts, a part may have columns of its own that only replace columns of its files.
    is_mixed = len(definition.parts) > 1 and any(part._definition is not None for part in definition.parts)
    return definition.lengths is not None or is_mixed or any(_views_count(part) for part in definition.parts)


def meta_of(dataset: Reader, *, only_views: bool = False) -> dict[str, Any]:
    """The `meta` of a dataset, from its first file or saved view; for several datasets, the entries that all share.

    Args:
        dataset: A dataset or view.
        only_views: Leave out files that are not saved views.
    """
    definition = dataset._definition
    if definition is None:
        return {} if only_views else _of_file(dataset)
    if hasattr(definition, "files"):  # a saved view
        return _of_file(definition.files.file)
    metas = [meta_of(part, only_views=only_views) for part in definition.parts]
    return {name: value for name, value in metas[0].items() if all(other.get(name) == value for other in metas[1:])}


def _of_file(dataset: Reader, file: int = 0) -> dict[str, Any]:
    try:
        return json.loads(dataset._footer(file)).get("meta") or {}
    except (JinxError, IndexError):  # MDS, or a dataset without files
        return {}
