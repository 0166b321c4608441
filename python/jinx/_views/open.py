"""Opens saved views: the view's own file, and the bases that it names."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import EllipsisType
from typing import Any, NamedTuple, TypeVar

from jinx import _core
from jinx._core import Reader
from jinx._dataset.summary import schema, schema_of_all
from jinx._unpickle import rebuild
from jinx._urls import is_url, resolved
from jinx._views.bases import Base, ViewFooter, bases_of, footer_of, read_view
from jinx.errors import MismatchError

D = TypeVar("D", bound=Reader)
Path = str | os.PathLike[str]
# The bases are at the paths in the view, at these paths instead, or refused.
Bases = EllipsisType | Path | Sequence[Path] | None
# Options of a dataset that also apply to the file of a view over it.
_VIEW_OPTIONS = frozenset({"lazy", "io", "verify", "max_value_bytes", "encoding", "storage"})


class OpenFiles(NamedTuple):
    """The files of a saved view.

    Attributes:
        footer: The footer of the view's own file.
        file: The view's own file.
        bases: The datasets that it shows.
    """

    footer: ViewFooter
    file: Reader
    bases: list[Reader]


@dataclass(eq=False)
class SavedView:
    """The definition of a saved view, which pickles as its path and id.

    Attributes:
        kind: The class of the dataset.
        path: The view, absolute.
        id: Its id.
        options: Keywords of `kind`.
        bases: The absolute paths of the bases; `...` to use the paths in the view.
        file: The view's own file, if it is open.
    """

    kind: type[Any]
    path: str
    id: str
    options: dict[str, Any]
    bases: EllipsisType | list[str]
    file: Reader | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("SavedView", self.kind, self.path, self.id, self.options, self.bases)

    @cached_property
    def files(self) -> OpenFiles:
        """The files of the view, whose bases must be those that it was saved over.

        Raises:
            MismatchError: The view or a base has changed.
        """
        # The file is opened once and everything is read from it: another view may replace it at any moment.
        file = self.kind([self.path], **self.options) if self.file is None else self.file
        footer = footer_of(file)
        if footer["id"] != self.id:
            raise MismatchError(f"{self.path}: the view changed since this dataset was pickled; open it again")
        entries = footer["base"]
        if not isinstance(self.bases, EllipsisType) and len(self.bases) != len(entries):
            raise ValueError(f"{self.path}: this view has {len(entries)} bases; base= gives {len(self.bases)}")
        bases = [
            open_base(file, self.path, i, base, None if isinstance(self.bases, EllipsisType) else [self.bases[i]])
            for i, base in enumerate(entries)
        ]
        return OpenFiles(footer, file, bases)

    def rows(self) -> _core.Rows:
        """The samples."""
        return _core.compose_saved(self.files.file, self.files.bases)

    def schema(self) -> dict[str, str]:
        """The types of its columns."""
        own = schema(self.files.file)
        types = schema_of_all(self.files.bases, own)
        if not self.files.file._base_len():
            # The file of an empty view names columns, and its bases know their types.
            types |= {name: text for name, text in schema_of_all(self.files.bases, {}).items() if name in own}
        return types


def open_view(file: D, bases: Bases, options: dict[str, Any]) -> D:
    """The view whose own file is open as `file`."""
    path = file._shard_paths[0]
    if bases is None:
        name = file._shard_names[0]
        raise MismatchError(f"{name}: this is a saved view, which reads other files; base=None refuses them")
    given = bases if isinstance(bases, EllipsisType) else absolute_paths(bases)
    while True:
        definition = SavedView(type(file), path, file._identities()[0][1], options, given, file)
        try:
            return file._derive(rows=definition.rows(), definition=definition)
        except MismatchError:
            if read_view(path)["id"] == definition.id:
                raise
        # Another view replaced the file after it was opened.
        file = type(file)([path], **options)


class ViewOpener:
    """Opens many saved views: views over the same bases share the open files of the bases.

    Args:
        base: The open dataset that the views show.
    """

    def __init__(self, base: Reader) -> None:
        roots, _, _ = base._roots()
        self._kind = type(base)
        self._options = {name: value for name, value in base._options.items() if name in _VIEW_OPTIONS}
        entries = [[new["entry"] for new in bases_of(root, "", base._options)] for root in roots]
        self._bases: dict[tuple[tuple[int, str], ...], list[Reader]] = {}
        if all(len(of_root) == 1 for of_root in entries):
            whole = [root.whole() for root in roots]
            files = [base._derive(rows=rows, indices=None, columns=None, decoders=None) for rows in whole]
            self._bases[_identities([entry for [entry] in entries])] = files

    def open(self, path: str) -> Reader:
        """The saved view at a path.

        Raises:
            MismatchError: The file is not a saved view, or its bases have changed.
        """
        file = self._kind([path], **self._options)
        footer = footer_of(file)
        view = SavedView(self._kind, path, footer["id"], self._options, ..., file)
        shared = self._bases.get(_identities(footer["base"]))
        if shared is None:
            self._bases[_identities(footer["base"])] = view.files.bases
        else:
            # This replaces the rows that the property would open.
            view.__dict__["files"] = OpenFiles(footer, file, shared)
        return file._derive(rows=view.rows(), definition=view)


def _identities(bases: Sequence[Base]) -> tuple[tuple[int, str], ...]:
    return tuple((base["num_samples"], base["id"]) for base in bases)


def absolute_paths(bases: Path | Sequence[Path]) -> list[str]:
    """The places of bases, one or several."""
    given = [bases] if isinstance(bases, str | bytes | os.PathLike) else bases
    places = [os.fsdecode(place) for place in resolved(list(given))]
    return [place if is_url(place) else os.path.abspath(place) for place in places]  # noqa: PTH100


def open_base(file: D, view: str, i: int, base: Base, places: Sequence[str] | None = None) -> D:
    """Open a base of a saved view, and refuse any dataset except the one that the view was saved over.

    Args:
        file: The view's own file.
        view: The path of the view.
        i: The index of the base.
        base: The entry of the base in the view.
        places: The possible paths of the base; by default the path in the view.

    Raises:
        MismatchError: No place has the base.
    """
    options: dict[str, Any] = {"split": None, "plain": False, "markers": False}
    if base["kind"] == "jsonl":
        options |= {"plain": True, "markers": base.get("markers", False)}
    elif base["kind"] == "mds":
        options |= {"mds": {"unpack": None}, "encoding": None}
    return file._derive(rows=_core.open_base(file, view, i, places), options=options)
