"""`Dataset.info` of MDS directories, from their `index.json`."""

import json
import os
from collections.abc import Sequence
from typing import Any

from jinx import _core
from jinx._core import Reader
from jinx._dataset.columns import column_names
from jinx._dataset.summary import path_of, type_summary
from jinx._results import ColumnInfo, DatasetInfo
from jinx._urls import is_url
from jinx.mds._directories import INDEX


def describe(dataset: Reader) -> DatasetInfo:
    """Samples, sizes, columns with their encodings, compression and hashes; no shard is opened."""
    [root] = dataset._root_files()
    shards = [shard for listed in listed_shards(dataset, root) for shard in listed]
    encodings: dict[str, str] = {}
    for shard in shards:
        for name, encoding in zip(shard.get("column_names", ()), shard.get("column_encodings", ()), strict=False):
            encodings.setdefault(name, encoding)
    stats = {entry["path"][0]: entry for entry in dataset._path_stats()}
    hashes: set[str] = {name for shard in shards for name in dict[str, str](shard["raw_data"].get("hashes") or {})}
    return DatasetInfo(
        path=path_of(dataset),
        format="mds",
        version="2",
        writer=None,
        shards=len(shards),
        samples=len(dataset),
        samples_in_files=dataset._base_len(),
        bytes=bytes_of(shards),
        sidecar_bytes=0,
        split=None,
        columns=[
            ColumnInfo(
                name,
                f"{encodings[name]}, {type_summary(stats[name])}" if name in stats else encodings[name],
                stats.get(name, {}).get("kinds", {}),
            )
            for name in column_names(dataset)
            if name in encodings
        ],
        indexed=[],
        checksums=sorted(hashes),
        needs_1_1=[],
        has_arrow_schema=False,
        ids=[identity.partition("-")[0] for _, identity in dataset._identities()],
        meta={},
        compression=sorted({shard["compression"] for shard in shards if shard.get("compression")}),
    )


def listed_shards(dataset: Reader, root: _core.Rows) -> list[list[dict[str, Any]]]:
    """The shards in the index of each directory.

    Raises:
        MismatchError: The index was changed or replaced since it was opened.
    """
    texts = [_text(os.path.join(directory, INDEX), dataset) for directory in root.paths]  # noqa: PTH118 - may be URLs
    root.base_ids()  # checks that the index files are unchanged
    return [json.loads(text)["shards"] for text in texts]


def _text(path: str, dataset: Reader) -> bytes:
    if is_url(path):
        from jinx._object_store import ObjectStore

        return ObjectStore(dataset._options.get("storage")).get(path).data
    with open(path, "rb") as file:  # noqa: PTH123
        return file.read()


def bytes_of(shards: Sequence[dict[str, Any]]) -> int:
    """Bytes of shards as they are stored."""
    return sum((shard.get("zip_data") or shard["raw_data"])["bytes"] for shard in shards)
