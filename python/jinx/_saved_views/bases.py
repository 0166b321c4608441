"""The bases of a saved view (the datasets that it shows), and their entries in its footer."""

import json
import os
import posixpath
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NotRequired, TypedDict

from jinx import _core
from jinx._arguments import encodable
from jinx._core import Reader
from jinx._urls import is_url
from jinx.errors import MismatchError

Kind = Literal["pair", "directory", "mds", "jsonl"]
# A path, and the number of samples and id of the file there.
_File = tuple[str, tuple[int, str]]


class Base(TypedDict):
    """An entry of the footer's `base`; see `spec/views.md`."""

    path: NotRequired[str]
    hint: NotRequired[str]
    location: NotRequired[str]
    version: NotRequired[str]
    kind: Kind
    id: str
    num_samples: int
    shards: NotRequired[int]
    content: NotRequired[str]
    markers: NotRequired[bool]


class ViewFooter(TypedDict):
    """The footer of a saved view."""

    id: str
    num_samples: int
    rows: int
    base: list[Base]
    drop: list[str]
    own: list[str]
    has_positions: bool


class NewBase(TypedDict):
    """A base that is about to be saved."""

    entry: Base
    line_offsets: bytes | None


def is_view(path: str) -> bool:
    """Whether a path is a saved view, which shows samples of other datasets: a file, or a directory of views.

    Raises:
        JinxError: The file or the manifest is damaged.
    """
    if os.path.isdir(path):  # noqa: PTH112
        return _core.is_view_directory(path)
    return os.path.isfile(path) and _core.view_footer(path) is not None  # noqa: PTH113


def read_view(path: str) -> ViewFooter:
    """The footer of the saved view `path`.

    Raises:
        MismatchError: The file is not a saved view.
    """
    return _parsed(path, _core.view_footer(path))


def footer_of(file: Reader) -> ViewFooter:
    """The footer of a saved view whose file is open.

    Raises:
        MismatchError: The file is not a saved view.
    """
    return _parsed(file._shard_paths[0], _core.open_view_footer(file))


def _parsed(path: str, text: str | None) -> ViewFooter:
    if text is None:
        raise MismatchError(f"{path}: this is not a saved view, but a dataset of its own")
    return json.loads(text)


def bases_of(root: _core.Rows, view: str, options: dict[str, Any], *, with_empty: bool = False) -> list[NewBase]:
    """The files of a dataset as bases of a view, in their order; files without samples only on request."""
    if root.kind == "mds":
        return [_base(path, view, "mds", *identity) for path, identity in _files(root)]
    if root.kind == "jsonl":
        return [_json_lines(root, i, file, view, options) for i, file in enumerate(_files(root))]
    files, bases = _files(root), list[NewBase]()
    while files:
        count = _shards_of_a_directory(files, options)
        path, (samples, id_) = files[0]
        if count:
            shards = files[:count]
            total = sum(shard_samples for _, (shard_samples, _) in shards)
            base = _base(os.path.dirname(path), view, "directory", total, _id_of_directory(shards))  # noqa: PTH120
            base["entry"]["shards"] = count
            bases.append(base)
        elif samples or with_empty:
            bases.append(_base(path, view, "pair", samples, id_))
        files = files[count or 1 :]
    return bases


def refuse_replaced(base: Base, options: Mapping[str, Any]) -> None:
    """Refuse a local JINX file or directory that was replaced since it was opened: a view could not show it.

    Args:
        base: The entry of the view.
        options: How the dataset was opened.

    Raises:
        FileNotFoundError: It is gone.
        MismatchError: It was replaced.
    """
    if "hint" not in base or base["kind"] not in {"pair", "directory"}:
        return
    path, count = base["hint"], base.get("shards", 1)
    roots = Reader(location=path, encoding=options["encoding"])._root_files()
    found = [file for root in roots for file in _files(root)][:count]
    ids = [_id_of_directory(found)] if base["kind"] == "directory" else [id_ for _, (_, id_) in found]
    if ids != [base["id"]]:
        raise MismatchError(f"{path}: the dataset was replaced after it was opened; open it again")


def _id_of_directory(shards: Sequence[_File]) -> str:
    names = [os.path.basename(shard) for shard, _ in shards]  # noqa: PTH119
    return _core.directory_id(names, [identity for _, identity in shards])


def _files(root: _core.Rows) -> list[_File]:
    return list(zip(root.paths, root.base_ids(), strict=True))


def _base(path: str, view: str, kind: Kind, samples: int, id_: str) -> NewBase:
    if is_url(path):
        located: Base = {"location": path, "kind": kind, "id": id_, "num_samples": samples}
        if is_url(view):
            _name_beside(located, path, view)
        return {"entry": located, "line_offsets": None}
    if is_url(view):
        raise ValueError(
            f"{view}: a view at a URL shows datasets at URLs, and {path} is on this machine; copy that first: jinx cp"
        )
    near, hint = places(path, view)
    for place in (near, hint):
        encodable("the path of a dataset that a view shows,", place)
    entry: Base = {"path": near, "hint": hint, "kind": kind, "id": id_, "num_samples": samples}
    return {"entry": entry, "line_offsets": None}


def _name_beside(entry: Base, url: str, view: str) -> None:
    """Store a base's path relative to a view in the same bucket, where readers of the view find it."""
    (root, _, key), (view_root, _, view_key) = (place.partition("://")[2].partition("/") for place in (url, view))
    if root == view_root and url.partition("://")[0] == view.partition("://")[0]:
        entry["path"] = posixpath.relpath(f"/{key}", posixpath.dirname(f"/{view_key}"))
        entry["hint"] = f"/{root}/{key}"


def places(path: str, view: str) -> tuple[str, str]:
    """A base's path from the view's directory, and its absolute path."""
    hint, folder = os.path.abspath(path), os.path.dirname(os.path.abspath(view))  # noqa: PTH100, PTH120 - str in, str out
    near, real = os.path.relpath(hint, folder), os.path.realpath(folder)
    if real == folder or os.path.realpath(os.path.join(real, near)) == os.path.realpath(hint):  # noqa: PTH118
        return near, hint
    # From a linked directory, `..` leads elsewhere. A path relative to the real directory works from both.
    return os.path.relpath(os.path.realpath(hint), real), hint


def _json_lines(root: _core.Rows, i: int, file: _File, view: str, options: dict[str, Any]) -> NewBase:
    offsets, (path, identity) = root.line_offsets(i), file
    base = _base(path, view, "jsonl", *identity)
    base["entry"]["content"] = root.content_hash(i)
    base["entry"]["markers"] = bool(options.get("markers"))
    base["line_offsets"] = offsets
    return base


def _shards_of_a_directory(files: Sequence[_File], options: Mapping[str, Any]) -> int:
    """The number of files at the beginning that are the first shards of one directory, complete and in order."""
    path, identity = files[0]
    directory = os.path.dirname(path)  # noqa: PTH120 - str in, str out
    if is_url(directory):
        storage: dict[str, str] = options.get("storage") or {}
        listed = _listed_at(directory, identity, tuple(sorted(storage.items())))
    else:
        listed = _listed_in(directory)
    count = 0
    for expected, found in zip(listed, files, strict=False):
        if expected != found:
            break
        count += 1
    return count


def _listed_in(directory: str) -> Sequence[_File]:
    """The shards that the manifest of a directory lists; none if there is no manifest."""
    if not os.path.exists(os.path.join(directory, "jinx.json")):  # noqa: PTH110, PTH118
        return ()
    shards = _core.resolve(directory)
    return [(os.path.abspath(path), (samples or 0, id_ or "")) for path, samples, id_ in shards]  # noqa: PTH100


@lru_cache(maxsize=64)
def _listed_at(url: str, first: tuple[int, str], storage: tuple[tuple[str, str], ...]) -> Sequence[_File]:
    """Like `_listed_in`, for a directory at a URL; read once for the dataset that begins with the shard `first`.

    What is listed is only compared with the files that are open, so a manifest that has changed since does no harm.
    """
    del first
    try:
        data = _core.ObjectStore({**dict(storage), "cache": "off"}).get(f"{url}/jinx.json")[0]
    except FileNotFoundError:
        return ()
    shards: list[dict[str, Any]] = json.loads(data).get("shards", [])
    return [(f"{url}/{shard['name']}", (shard["samples"], shard["id"])) for shard in shards]


def candidates(base: Base, view: str) -> list[str]:
    """The possible paths of a base on this machine, in the order of search."""
    return _core.base_candidates(json.dumps(base), view)


def keep_location(before: Base, entry: Base) -> None:
    """Copy the URL of a base to its new entry."""
    if "location" in before:
        entry["location"] = before["location"]
    if "version" in before:
        entry["version"] = before["version"]
