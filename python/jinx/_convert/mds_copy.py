"""MDS to MDS without decoding; `rust/jinx-convert/src/mds_copy.rs` copies the stored values."""

import os
from typing import TYPE_CHECKING

from jinx import _core
from jinx._results import WriteResult

if TYPE_CHECKING:
    from jinx._convert.options import Progress, Settings
    from jinx._dataset.dataset import Dataset

# Options that change values or column names.
_CHANGES = ("rename", "drop_nulls", "media_dir", "rejects")


def may_copy(settings: "Settings") -> bool:
    """Whether these options leave values unchanged."""
    return settings.target == "mds" and settings.embed is None and not any(settings.core[name] for name in _CHANGES)


def copy_mds(source: "Dataset", settings: "Settings", progress: "Progress | None") -> WriteResult | None:
    """A copy of a view of MDS directories; None if its samples must be decoded and encoded again.

    Samples must be decoded for other files, own columns of the view, functions to apply, shards with different columns,
    and encodings that our writer does not support.

    Raises:
        KeyError: A column does not exist.
    """
    if not may_copy(settings) or source._transforms or source._decoders:
        return None
    core = settings.core
    roots = source._root_files()
    if source._own_columns() or not roots or any(root.kind != "mds" for root in roots):
        return None
    if core["columns"] is not None:
        source = source.select_columns(core["columns"])
    if core["drop"]:
        source = source.drop_columns(core["drop"])
    if core["limit"] is not None:
        source = source[: core["limit"]]
    roots, positions, _ = source._roots()
    options = settings.changed(settings.out, "mds", columns=None, drop=None, limit=None, where=None).for_core()
    done = _core.copy_mds(roots, positions, source.column_names, os.fspath(settings.out), options, progress)
    return None if done is None else WriteResult.of(settings.out, done)
