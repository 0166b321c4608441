"""Opening a saved view: its own file, and the bases that it names."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import EllipsisType
from typing import Any, TypeVar, cast

from jinx import _core
from jinx._core import Reader
from jinx._reopen import rebuild
from jinx._views.bases import (
    Base,
    candidates,
    directory_id,
    json_lines_id,
    missing_base,
    other_base,
    pair_id,
)
from jinx.errors import MismatchError

D = TypeVar("D", bound=Reader)
T = TypeVar("T")
Path = str | os.PathLike[str]
# Where the view says, at these places instead, or nowhere.
Bases = EllipsisType | Path | Sequence[Path] | None


@dataclass(frozen=True, eq=False)
class SavedView:
    """A saved view that is open; pickled, it is a path and an id."""

    kind: type[Any]
    path: str
    id: str
    options: dict[str, Any]
    bases: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("SavedView", self.kind, self.path, self.id, self.options, self.bases)

    def rows(self) -> _core.Rows:
        """The samples of the file, which must be the one that was opened."""
        file = self.kind([self.path], **self.options)
        footer = json.loads(_core.view_footer(self.path) or "{}")
        if footer.get("id") != self.id:
            raise MismatchError(f"{self.path}: the view changed since this dataset was pickled; open it again")
        return _rows(file, footer, self.path, self.bases, self.options)


def open_view(file: D, path: str, bases: Bases, options: dict[str, Any]) -> D:
    """The view whose file is open as `file`."""
    if bases is None:
        raise MismatchError(f"{path}: this is a saved view, which reads other files; base=None refuses them")
    footer = json.loads(_core.view_footer(path) or "{}")
    given: Any = bases
    if not isinstance(bases, EllipsisType):
        one = isinstance(bases, str | bytes | os.PathLike)
        given = [os.path.abspath(os.fsdecode(p)) for p in ([bases] if one else cast("Sequence[Path]", bases))]  # noqa: PTH100
    recipe = SavedView(type(file), os.path.abspath(path), footer["id"], options, given)  # noqa: PTH100
    return file._derive(rows=_rows(file, footer, path, given, options), recipe=recipe)


def _rows(file: Reader, footer: dict[str, Any], view: str, given: Any, options: dict[str, Any]) -> _core.Rows:
    entries: list[Base] = footer["base"]
    if not isinstance(given, EllipsisType) and len(given) != len(entries):
        raise ValueError(f"{view}: this view has {len(entries)} bases; base= gives {len(given)}")
    opened: list[Reader] = []
    for i, base in enumerate(entries):
        at = candidates(base, view) if isinstance(given, EllipsisType) else [given[i]]
        opened.append(first_place(base, view, at, partial(open_base, type(file), base, i, view, options=options))[1])
    return _core.compose_saved(file, opened)


def first_place(base: Base, view: str, at: Sequence[str], take: Callable[[str], T]) -> tuple[str, T]:
    """The first place that has a base, and what `take` makes of it.

    Raises:
        MismatchError: No place has it.
    """
    wrong: MismatchError | None = None
    for path in at:
        if not os.path.lexists(path):
            continue
        try:
            return path, take(path)
        except MismatchError as error:
            wrong = wrong or error
    raise wrong or missing_base(base, view, at)


def open_base(kind: type[Reader], base: Base, i: int, view: str, path: str, *, options: dict[str, Any]) -> Reader:
    """The dataset at `path`, which must be the one that the view was saved over."""
    if base["kind"] == "jsonl":
        found = json_lines_id(path)
        _require(base, view, path, base["num_samples"], found)
        offsets = _core.view_line_offsets(view, i)
        plain = {**options, "plain": True, "markers": base.get("markers", False), "line_offsets": offsets}
        return kind([path], **plain)
    if base["kind"] == "mds":
        from jinx.mds._folders import open_folders

        kept = {name: options[name] for name in ("io", "lazy", "verify", "max_value_bytes") if name in options}
        opened = open_folders(kind, [path], **kept)
        samples, id_ = opened._identities()[0]
        _require(base, view, path, samples, id_)
        return opened
    if base["kind"] == "directory":
        return _directory(kind, base, view, path, options)
    opened = kind([path], **options)
    if opened._is_saved_view():
        raise MismatchError(f"{view}: {path} is a saved view itself, and not the dataset that this view was saved over")
    samples, id_ = opened._identities()[0]
    _require(base, view, path, samples, pair_id(path, id_))
    return opened


def _directory(kind: type[Reader], base: Base, view: str, path: str, options: dict[str, Any]) -> Reader:
    shards = _core.resolve(path)[: base["shards"]]
    names = [os.path.basename(name) for name, _, _ in shards]  # noqa: PTH119
    expected = [(samples or 0, id_ or "") for _, samples, id_ in shards]
    total = sum(samples for samples, _ in expected)
    if len(shards) < base["shards"]:
        raise other_base(base, view, path, f"{len(shards):,} shards of {base['shards']:,}")
    _require(base, view, path, total, directory_id(names, expected))
    return kind([name for name, _, _ in shards], **options, expected=expected)


def _require(base: Base, view: str, path: str, samples: int, id_: str) -> None:
    if (samples, id_) != (base["num_samples"], base["id"]):
        raise other_base(base, view, path, f"id {id_} with {samples:,} samples")
