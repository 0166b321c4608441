"""`Dataset.info` of MDS directories, from their `index.json`."""

import json
import os
from typing import Any

from jinx._core import Reader
from jinx._dataset.columns import column_names
from jinx._dataset.summary import path_of, type_summary
from jinx._results import ColumnInfo, DatasetInfo
from jinx.mds._directories import INDEX


def describe(dataset: Reader) -> DatasetInfo:
    """Samples, sizes, columns with their encodings, compression and hashes; no shard is opened."""
    shards: list[dict[str, Any]] = []
    for directory in dataset._shard_paths:
        with open(os.path.join(directory, INDEX), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            shards += json.load(file)["shards"]
    encodings: dict[str, str] = {}
    for shard in shards:
        for name, encoding in zip(shard.get("column_names", ()), shard.get("column_encodings", ()), strict=False):
            encodings.setdefault(name, encoding)
    stats = {entry["path"][0]: entry for entry in dataset._path_stats()}
    hashes: set[str] = {name for shard in shards for name in dict[str, str](shard["raw_data"].get("hashes") or {})}
    stored = sum((shard.get("zip_data") or shard["raw_data"])["bytes"] for shard in shards)
    return DatasetInfo(
        path=path_of(dataset),
        format="mds",
        version="2",
        writer=None,
        shards=len(shards),
        samples=len(dataset),
        samples_in_files=dataset._base_len(),
        bytes=stored,
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
