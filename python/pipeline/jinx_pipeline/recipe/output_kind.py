"""The kind of an output, derived from its name."""

import os
from typing import get_args

from jinx._suggest import hint
from jinx_pipeline.recipe.export import ExportKind

_SUFFIXES: dict[ExportKind, str] = {"jsonl": ".jsonl", "parquet": ".parquet", "webdataset": ".tar", "mds": ""}
_WRITTEN = {"", ".jinx", *_SUFFIXES.values()}


def kind_of(path: str) -> ExportKind:
    """The kind of an output, from its name: the suffix, or JINX.

    Raises:
        ValueError: The path has no file name, or its suffix is not that of an output format.
    """
    suffix = os.path.splitext(path)[1].lower()  # noqa: PTH122 - the path is a str from a recipe
    if os.path.basename(path.rstrip("/")) in {"", ".", "..", "-"}:  # noqa: PTH119
        raise ValueError(f"{path!r} is not a name for an output; name a file or a directory")
    # A directory of shards may have a name such as data-v1.2.
    if suffix not in _WRITTEN and not suffix[1:].isdecimal():
        raise ValueError(
            f"{path}: {suffix} is not written; write .jinx, .jsonl, .parquet or .tar, or no suffix for a directory"
        )
    kinds: list[ExportKind] = [kind for kind, known in _SUFFIXES.items() if known and known == suffix]
    return kinds[0] if kinds else "jinx"


def refuse_other_name(path: str, kind: ExportKind) -> None:
    """Refuse a name that does not fit a kind.

    Raises:
        ValueError: The name does not fit the kind, its suffix is not that of an output format, or there is no such
            kind.
    """
    if kind not in get_args(ExportKind):
        kinds = get_args(ExportKind)
        raise ValueError(f"kind is one of {', '.join(kinds)}, not {kind!r}{hint(str(kind), kinds)}")
    if kind_at(path, kind) == kind and (kind != "view" or path.endswith(".jinx")):
        return
    rule = _NAMES.get(kind) or f"the name of {kind} ends in {_SUFFIXES[kind]}"
    raise ValueError(f"{path}: not a name for kind: {kind}; {rule}")


_NAMES: dict[ExportKind, str] = {
    "jinx": "JINX is one file, whose name ends in .jinx, or a directory without a suffix",
    "view": "a saved view is one file, whose name ends in .jinx",
    "mds": "MDS is a directory, without a suffix",
}


def kind_at(path: str, kind: ExportKind) -> ExportKind:
    """The kind of an output that is written to another path: `kind`, unless the suffix implies another one.

    Raises:
        ValueError: An error of `kind_of`.
    """
    implied = kind_of(path)
    has_suffix = bool(os.path.splitext(path)[1])  # noqa: PTH122 - the path is a str from a recipe
    fits = kind == "view" or (kind == "mds" and not has_suffix)
    return kind if implied == "jinx" and fits else implied
