"""`Dataset.info` of saved views, and of views in memory that have columns of their own."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jinx._core import Reader
from jinx._dataset.summary import column_infos, path_of, schema
from jinx._dataset.summary import describe as describe_files
from jinx._results import BaseInfo, DatasetInfo
from jinx._saved_views.open import SavedView, SavedViews


def describe(dataset: Reader) -> DatasetInfo:
    """`Dataset.info` of views."""
    definition = dataset._definition
    views = _saved_views(definition)
    facts = _saved(dataset, views) if views else _united([part.info() for part in definition.parts])
    own = dataset._own_columns()
    return replace(
        facts,
        path=path_of(dataset),
        samples=len(dataset),
        columns=column_infos(schema(dataset), dataset._path_stats()),
        has_arrow_schema=dataset._arrow_schema() is not None,
        own_columns=own,
    )


def _saved_views(definition: Any) -> list[SavedView]:
    """The saved view, or the views of a directory if all show the same datasets; otherwise none."""
    if isinstance(definition, SavedView):
        return [definition]
    if not isinstance(definition, SavedViews):
        return []
    views: list[SavedView] = [part._definition for part in definition.parts]
    bases = views[0].files.footer["base"]
    return views if all(view.files.footer["base"] == bases for view in views) else []


def _saved(dataset: Reader, views: Sequence[SavedView]) -> DatasetInfo:
    files = views[0].files
    # A directory joins its views, and the positions over all their bases would count each base several times.
    parts = [dataset] if len(views) == 1 else dataset._definition.parts
    selected = _selected(parts, [base["num_samples"] for base in files.footer["base"]])
    bases = [
        BaseInfo(
            _place(reader, base["kind"]),
            base["kind"],
            base["id"],
            base["num_samples"],
            shown,
            _bytes(reader),
            base.get("location"),
            base.get("version"),
        )
        for base, reader, shown in zip(files.footer["base"], files.bases, selected, strict=True)
    ]
    return replace(
        _united([describe_files(view.files.file) for view in views]),
        samples_in_files=sum(base.samples for base in bases),
        bases=bases,
        has_positions=any(view.files.footer["has_positions"] for view in views),
    )


def _united(parts: Sequence[DatasetInfo]) -> DatasetInfo:
    """The files of all parts; a file that several parts show counts only once."""
    infos = list({info.path: info for info in parts}.values())
    first = infos[0]
    if len(infos) == 1:
        return first
    formats = {info.format for info in infos}
    return replace(
        first,
        format=first.format if len(formats) == 1 else "mixed",
        shards=sum(info.shards for info in infos),
        samples_in_files=sum(info.samples_in_files for info in infos),
        bytes=sum(info.bytes for info in infos),
        sidecar_bytes=sum(info.sidecar_bytes for info in infos),
        indexed=[entry for entry in first.indexed if all(entry in info.indexed for info in infos)],
        checksums=[entry for entry in first.checksums if all(entry in info.checksums for info in infos)],
        needs_1_1=list(dict.fromkeys(entry for info in infos for entry in info.needs_1_1)),
        ids=[entry for info in infos for entry in info.ids],
        bases=[entry for info in infos for entry in info.bases],
    )


def _selected(parts: Sequence[Reader], sizes: list[int]) -> list[int]:
    """The number of samples of each base that the views show."""
    import numpy as np

    shown = np.zeros(sum(sizes), dtype=np.bool_)
    for part in parts:
        _, over_bases, _ = part._roots()
        if over_bases is None:
            return sizes
        shown[np.frombuffer(over_bases, dtype="<u8").astype(np.int64)] = True
    ends = np.cumsum(sizes).tolist()
    return [int(shown[end - size : end].sum()) for end, size in zip(ends, sizes, strict=True)]


def _place(base: Reader, kind: str) -> str:
    first = base._shard_paths[0]
    return os.path.dirname(first) if kind == "directory" else first  # noqa: PTH120 - str in, str out


def _bytes(base: Any) -> int:
    info: DatasetInfo = base.info()
    return info.bytes + info.sidecar_bytes
