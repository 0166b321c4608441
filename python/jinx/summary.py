"""What is known about a dataset without reading its samples."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jinx.nearest import path_text

if TYPE_CHECKING:
    from jinx.dataset import Dataset

_NONE = "null"
_SPELT = {"null": "None", "ndarray": "ndarray", "np": "numpy scalar"}


def type_summary(entry: Mapping[str, Any]) -> str:
    """The kinds of one field's values: `str`, `int or float`, `bytes (image/jpeg)`, `list or None`."""
    kinds: list[str] = [kind for kind in entry.get("kinds", {}) if kind != _NONE]
    media: dict[str, Any] = entry.get("media") or {}
    named: list[str] = [f"bytes ({media.get('mime') or media.get('type')})"] if media else []
    named += [_SPELT.get(kind, kind) for kind in kinds if not (media and kind in {"bytes", "dict"})]
    if _NONE in entry.get("kinds", {}):
        named.append("None")
    return " or ".join(named) or "None"


def field_sizes(stats: Sequence[Mapping[str, Any]]) -> dict[str, tuple[int, int, int]]:
    """For each top-level field: binary values, their stored bytes, their bytes before compression."""
    sizes: dict[str, tuple[int, int, int]] = {}
    for entry in stats:
        name = str(entry["path"][0])
        count, stored, decoded = sizes.get(name, (0, 0, 0))
        coded = int(entry.get("coded", 0))
        sizes[name] = (
            count + coded,
            stored + int(entry.get("bytes", 0)),
            decoded + int(entry.get("decoded", 0)),
        )
    return sizes


def only_readable_by_1_1(stats: Sequence[Mapping[str, Any]], separator: str) -> list[str]:
    """Fields that use what readers of JINX 1.0 report as an error."""
    found: list[str] = []
    for entry in stats:
        path, kinds = entry["path"], entry.get("kinds", {})
        text = path_text(path)
        if entry.get("quoted") or any(part is not None and separator in part for part in path):
            found.append(f"{text}: a name with {separator!r}")
        elif None in path and entry.get("coded"):
            found.append(f"{text}: binary values in a list")
        elif "float64" in kinds:
            found.append(f"{text}: NaN or infinite numbers")
    return found


def describe(dataset: "Dataset") -> dict[str, Any]:
    """See `Dataset.info`."""
    import json

    if dataset._options.get("mds") is not None:  # pyright: ignore[reportPrivateUsage]
        from jinx.mds.summary import describe as describe_mds

        return describe_mds(dataset)
    paths = dataset._shard_paths  # pyright: ignore[reportPrivateUsage]
    footers: list[dict[str, Any]] = [json.loads(dataset._footer(index)) for index in range(len(paths))]  # pyright: ignore[reportPrivateUsage]
    stats = dataset._field_stats()  # pyright: ignore[reportPrivateUsage]
    first: dict[str, Any] = footers[0] if footers else {}
    columns: list[dict[str, Any]] = first.get("columns") or []
    return {
        "path": dataset.path,
        "format": "jinx" if first.get("version") else "jsonl",
        "version": first.get("version"),
        "writer": first.get("writer"),
        "shards": len(paths),
        "samples": len(dataset),
        "samples_in_files": dataset._base_len(),  # pyright: ignore[reportPrivateUsage]
        "bytes": sum(int(footer.get("bytes") or 0) for footer in footers),
        "sidecar_bytes": sum(int(footer.get("sidecar_bytes") or 0) for footer in footers),
        "split": first.get("split"),
        "fields": _fields(dataset.fields, stats),
        "columns": [
            {"path": path_text(column["path"]), "kind": column.get("kind"), "dtype": column.get("dtype")}
            for column in columns
        ],
        "checksums": _checksums(first),
        "needs_1_1": only_readable_by_1_1(stats, "."),
        "arrow_schema": dataset._arrow_schema() is not None,  # pyright: ignore[reportPrivateUsage]
        "ids": [footer.get("id") for footer in footers],
        "meta": first.get("meta") or {},
    }


def _fields(types: Mapping[str, str], stats: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    sizes = field_sizes(stats)
    counts = {entry["path"][0]: entry.get("kinds", {}) for entry in stats if len(entry["path"]) == 1}
    found: list[dict[str, Any]] = []
    for name, text in types.items():
        binary, stored, decoded = sizes.get(name, (0, 0, 0))
        found.append(
            {
                "name": name,
                "type": text,
                "counts": counts.get(name, {}),
                "binary_values": binary,
                "stored_bytes": stored,
                "decoded_bytes": decoded,
            }
        )
    return found


def _checksums(footer: Mapping[str, Any]) -> list[str]:
    """What is protected by a checksum."""
    if not footer.get("line_hash"):
        return []
    values = ["values"] if footer.get("sidecar_bytes") else []
    columns = ["columns"] if footer.get("columns") else []
    return ["rows", *values, *columns, "index", "footer"]
