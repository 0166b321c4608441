"""The `meta` in the footers of datasets and saved views, and in it how `jinx annotate` counted lengths."""

import json
from dataclasses import dataclass
from typing import Any, cast

from jinx._core import Reader
from jinx.errors import JinxError

# The member in which annotate says how it counted the lengths of samples.
COUNTED = "annotate"


@dataclass(frozen=True)
class Counted:
    """How the lengths of the samples of a file were counted.

    Attributes:
        file: The file, as it was named.
        settings: The settings of `jinx annotate`; None if the file has none.
    """

    file: str
    settings: dict[str, Any] | None


def counted(dataset: Reader) -> list[Counted]:
    """The different ways in which the lengths of a dataset were counted, each with the first file that names it."""
    distinct: list[Counted] = []
    for entry in _counted(dataset):
        if all(entry.settings != earlier.settings for earlier in distinct):
            distinct.append(entry)
    return distinct


def _counted(dataset: Reader) -> list[Counted]:
    definition = dataset._definition
    if definition is None:
        sizes = [samples for samples, _ in dataset._identities()]
        return [entry for file, samples in enumerate(sizes) if samples for entry in _counted_in(dataset, file)]
    if hasattr(definition, "files"):  # a saved view, whose own counts replace those beneath it
        own = _counted_in(definition.files.file, 0)
        if any(entry.settings is not None for entry in own):
            return own
        bases: list[Reader] = definition.files.bases
        return [entry for base in bases for entry in _counted(base)] or own
    return [entry for part in definition.parts for entry in _counted(part)]


def _counted_in(dataset: Reader, file: int) -> list[Counted]:
    """The ways that a file names: several if it is a copy of samples that were counted differently."""
    stored = _of_file(dataset, file).get(COUNTED)
    ways = cast("list[Any]", stored) if isinstance(stored, list) else [stored]
    name = dataset._shard_names[file]
    return [
        Counted(name, cast("dict[str, Any]", settings) if isinstance(settings, dict) else None) for settings in ways
    ]


def kept_meta(dataset: Reader) -> dict[str, Any]:
    """The `meta` for a saved view of a dataset: what the views below it have in common, and how lengths were counted.

    The `meta` of other files is not copied: it can be read there, and copying it would open all shards.
    """
    kept = meta_of(dataset, only_views=True)
    kept.pop(COUNTED, None)
    if _views_count(dataset):
        all_settings = [entry.settings for entry in counted(dataset)]
        kept[COUNTED] = all_settings[0] if len(all_settings) == 1 else all_settings
    return kept


def _views_count(dataset: Reader) -> bool:
    """Whether a saved view in the dataset says how lengths were counted."""
    definition = dataset._definition
    if definition is None:
        return False
    if hasattr(definition, "files"):
        return COUNTED in _of_file(definition.files.file)
    return any(_views_count(part) for part in definition.parts)


def meta_of(dataset: Reader, *, only_views: bool = False) -> dict[str, Any]:
    """The `meta` of a dataset: of its first file or saved view; for several datasets, what all of them have in common.

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
    except (JinxError, IndexError):  # MDS, or a dataset of no files
        return {}
