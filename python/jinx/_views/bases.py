"""The datasets that a saved view shows: how it names them, and how they are found again."""

import json
import os
from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from jinx import _core
from jinx.errors import MismatchError

Kind = Literal["pair", "directory", "mds", "jsonl"]


class Base(TypedDict, total=False):
    """An entry of the footer's `base`; see `spec/views.md`."""

    path: str
    hint: str
    kind: Kind
    id: str
    num_samples: int
    shards: int
    content: str
    markers: bool


class NewBase(TypedDict):
    """A base that is about to be saved."""

    entry: Base
    line_offsets: bytes | None


def bases_of(root: _core.Rows, view: str, options: dict[str, Any]) -> list[NewBase]:
    """The bases that the files of one dataset are, in their order."""
    if root.kind == "mds":
        return [
            _base(path, view, "mds", *identity) for path, identity in zip(root.paths, root.identities(), strict=True)
        ]
    if root.kind == "jsonl":
        return [_json_lines(root, i, path, view, options) for i, path in enumerate(root.paths)]
    identities = root.identities()
    directory = _directory(root.paths, identities)
    if directory is not None:
        names = [os.path.basename(path) for path in root.paths]  # noqa: PTH119
        base = _base(directory, view, "directory", root.samples, directory_id(names, identities))
        base["entry"]["shards"] = len(names)
        return [base]
    files = zip(root.paths, identities, strict=True)
    return [_base(path, view, "pair", samples, pair_id(path, id_)) for path, (samples, id_) in files if samples]


def _base(path: str, view: str, kind: Kind, samples: int, id_: str) -> NewBase:
    near, hint = places(path, view)
    entry: Base = {"path": near, "hint": hint, "kind": kind, "id": id_, "num_samples": samples}
    return {"entry": entry, "line_offsets": None}


def places(path: str, view: str) -> tuple[str, str]:
    """A base's path from the view's directory, and its absolute path."""
    hint = os.path.abspath(path)  # noqa: PTH100 - str in, str out
    return os.path.relpath(hint, os.path.dirname(os.path.abspath(view))), hint  # noqa: PTH100, PTH120


def _json_lines(root: _core.Rows, i: int, path: str, view: str, options: dict[str, Any]) -> NewBase:
    offsets = root.line_offsets(i)
    base = _base(path, view, "jsonl", len(offsets) // 8 - 1, json_lines_id(path))
    base["entry"]["content"] = _core.hash_file(path)
    base["entry"]["markers"] = bool(options.get("markers"))
    base["line_offsets"] = offsets
    return base


def _directory(paths: Sequence[str], identities: Sequence[tuple[int, str]]) -> str | None:
    """The directory whose manifest lists these shards first, with all their samples."""
    parents = {os.path.dirname(path) for path in paths}  # noqa: PTH120
    if len(parents) != 1:
        return None
    directory = parents.pop()
    if not os.path.exists(os.path.join(directory, "jinx.json")):  # noqa: PTH110, PTH118
        return None
    listed = [(os.path.abspath(name), samples, id_) for name, samples, id_ in _core.resolve(directory)]  # noqa: PTH100
    wanted = [(os.path.abspath(path), *identity) for path, identity in zip(paths, identities, strict=True)]  # noqa: PTH100
    return directory if listed[: len(paths)] == wanted else None


def pair_id(path: str, id_: str) -> str:
    """The id of a pair; for JINX 1.0, which has none, a hash of its footer."""
    return id_ or _core.pair_stand_in_id(path)


def directory_id(names: Sequence[str], identities: Sequence[tuple[int, str]]) -> str:
    """The id of the shards at a directory's beginning: it stays while the directory grows."""
    shards = [[name, samples, id_] for name, (samples, id_) in zip(names, identities, strict=True)]
    return _core.hash_bytes(json.dumps(shards, separators=(",", ":"), ensure_ascii=False).encode())


def json_lines_id(path: str) -> str:
    """Size and time of the last change."""
    status = os.stat(path)  # noqa: PTH116
    return f"{status.st_size}-{status.st_mtime_ns}"


def candidates(base: Base, view: str) -> list[str]:
    """Where a base may be, in the order of search."""
    near = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(view)), base["path"]))  # noqa: PTH100, PTH118, PTH120
    return list(dict.fromkeys([near, base["hint"]]))


def missing_base(base: Base, view: str, looked: Sequence[str]) -> MismatchError:
    """The error for a base that is not where it was."""
    return MismatchError(
        f"{view}: the {base['kind']} that this view shows is missing (looked for {' and '.join(looked)}); if it moved, "
        f"open it with jinx.open(view, base=NEW) or run: jinx rebase {view} NEW"
    )


def other_base(base: Base, view: str, path: str, found: str) -> MismatchError:
    """The error for a base that is another dataset now."""
    return MismatchError(
        f"{view}: {path} is not the dataset that this view was saved over: expected id {base['id']} with "
        f"{base['num_samples']:,} samples, found {found}; open the right one with jinx.open(view, base=PATH)"
    )
