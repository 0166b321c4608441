"""Facts about a dataset from footers alone: schema, sizes, `Dataset.info`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jinx import _core
from jinx._core import Reader
from jinx._dataset.columns import column_names
from jinx._suggest import path_text

if TYPE_CHECKING:
    from jinx._results import ColumnInfo, DatasetInfo

_NONE = "null"
_SPELT = {"null": "None", "ndarray": "ndarray", "np": "numpy scalar"}


def type_summary(entry: Mapping[str, Any]) -> str:
    """The kinds of a column's values: `str`, `int or float`, `bytes (image/jpeg)`, `list or None`."""
    kinds: list[str] = [kind for kind in entry.get("kinds", {}) if kind != _NONE]
    media: dict[str, Any] = entry.get("media") or {}
    named: list[str] = [f"bytes ({media.get('mime') or media.get('type')})"] if media else []
    named += [_SPELT.get(kind, kind) for kind in kinds if not (media and kind in {"bytes", "dict"})]
    if _NONE in entry.get("kinds", {}):
        named.append("None")
    return " or ".join(named) or "None"


def path_sizes(stats: Sequence[Mapping[str, Any]]) -> dict[str, tuple[int, int, int]]:
    """For each column: the number of binary values, their stored bytes, their bytes before compression."""
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
    """Columns with features that readers of JINX 1.0 reject with an error."""
    reasons: list[str] = []
    for entry in stats:
        path, kinds = entry["path"], entry.get("kinds", {})
        text = path_text(path)
        if entry.get("quoted") or any(part is not None and separator in part for part in path):
            reasons.append(f"{text}: a name with {separator!r}")
        elif None in path and entry.get("coded"):
            reasons.append(f"{text}: binary values in a list")
        elif "float64" in kinds:
            reasons.append(f"{text}: NaN or infinity")
    return reasons


def path_of(dataset: Reader) -> str:
    """See `Dataset.path`."""
    paths = dataset._shard_names
    if len(paths) == 1:
        return paths[0]
    import os

    directories = {os.path.dirname(path) for path in paths} or {""}  # noqa: PTH120 - str in, str out
    if len(directories) == 1:
        where = directories.pop()
    elif any("://" in path for path in directories):
        return f"{len(paths)} shards in {len(directories)} places"
    else:
        # Some may be relative paths, which have no common path with the others.
        relative = {os.path.isabs(path) for path in directories} == {False}  # noqa: PTH117 - str in, str out
        where = os.path.commonpath(directories if relative else map(os.path.abspath, directories))
    return f"{where or '.'} ({len(paths)} shards)"


def schema(dataset: Reader) -> dict[str, str]:
    """See `Dataset.schema`."""
    names = column_names(dataset)
    if dataset._definition is not None and not dataset._transforms:
        types: dict[str, str] = dataset._definition.schema()
        return {name: types[name] for name in names}
    stats = {entry["path"][0]: entry for entry in dataset._path_stats() if len(entry["path"]) == 1}
    if dataset._transforms or not stats:
        # If no sample is selected, the types come from the files.
        seen = dataset if len(dataset) or dataset._transforms else dataset._derive(indices=None)
        if not len(seen) and not dataset._transforms:
            found = dict(seen._column_types()) if names else {}
            return {name: found.get(name, "None") for name in names}
        first: Any = seen[0] if len(seen) else {}
        return {name: type(first.get(name)).__name__ for name in names}
    return {name: type_summary(stats[name]) for name in names if name in stats}


def schema_of_all(parts: Sequence[Reader], own: Mapping[str, str]) -> dict[str, str]:
    """The types of the columns of several datasets, and of a view's own columns."""
    types: dict[str, dict[str, None]] = {}
    for part in parts:
        for name, text in schema(part).items():
            types.setdefault(name, {}).update(dict.fromkeys(text.split(" or ")))
    return {**{name: " or ".join(_none_last(words)) for name, words in types.items()}, **own}


def _none_last(words: Mapping[str, None]) -> list[str]:
    return sorted(words, key=lambda word: word == "None")


def describe(dataset: Reader) -> "DatasetInfo":
    """`Dataset.info` of JINX and JSON lines."""
    import json

    from jinx._results import DatasetInfo, IndexedInfo

    footers: list[dict[str, Any]] = [json.loads(dataset._footer(index)) for index in range(len(dataset._shard_paths))]
    stats = dataset._path_stats()
    first: dict[str, Any] = footers[0] if footers else {}
    indexed: list[dict[str, Any]] = first.get("columns") or []
    splits = {footer.get("split") for footer in footers}
    return DatasetInfo(
        path=path_of(dataset),
        format="jinx" if first.get("version") else "jsonl",
        version=first.get("version"),
        writer=first.get("writer"),
        shards=len(footers),
        samples=len(dataset),
        samples_in_files=dataset._base_len(),
        bytes=sum(int(footer.get("bytes") or 0) for footer in footers),
        sidecar_bytes=sum(int(footer.get("sidecar_bytes") or 0) for footer in footers),
        split=splits.pop() if len(splits) == 1 else None,
        columns=column_infos(schema(dataset), stats),
        indexed=[IndexedInfo(path_text(column["path"]), column["kind"], column["dtype"]) for column in indexed],
        checksums=_checksums(first),
        needs_1_1=only_readable_by_1_1(stats, "."),
        has_arrow_schema=dataset._arrow_schema() is not None,
        ids=[footer.get("id") for footer in footers],
        meta=first.get("meta") or {},
    )


def extra_indexed(dataset: Any) -> list[str]:
    """The visible columns that the files index in addition to the top-level columns that are always indexed."""
    info: DatasetInfo = dataset.info()
    shown = set(column_names(dataset))
    extra: list[str] = []
    for column in info.indexed:
        path = _core.parse_path(column.path)
        if (column.dtype == "utf8" or len(path) > 1) and path[0] in shown:
            extra.append(column.path)
    return extra


def column_infos(types: Mapping[str, str], stats: Sequence[Mapping[str, Any]]) -> "list[ColumnInfo]":
    """The facts about each column."""
    from jinx._results import ColumnInfo

    sizes = path_sizes(stats)
    counts = {entry["path"][0]: entry.get("kinds", {}) for entry in stats if len(entry["path"]) == 1}
    return [ColumnInfo(name, text, counts.get(name, {}), *sizes.get(name, (0, 0, 0))) for name, text in types.items()]


def _checksums(footer: Mapping[str, Any]) -> list[str]:
    """The parts that a checksum protects."""
    if not footer.get("line_hash"):
        return []
    values = ["values"] if footer.get("sidecar_bytes") else []
    columns = ["columns"] if footer.get("columns") else []
    return ["rows", *values, *columns, "index", "footer"]
