"""Opens saved views: the view's own file, and its bases."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import EllipsisType
from typing import Any, ClassVar, NamedTuple, TypeVar

from jinx import _core
from jinx._core import Reader
from jinx._dataset.summary import path_of, schema, schema_of_all
from jinx._saved_views.bases import Base, ViewFooter, bases_of, footer_of, read_view
from jinx._unpickle import rebuild
from jinx._urls import is_url, resolved
from jinx.errors import MismatchError

D = TypeVar("D", bound=Reader)
Path = str | os.PathLike[str]
# Where the bases are: `...` at the paths in the view, at the given paths instead, or None to refuse them.
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
    """The definition of a saved view; it is pickled as its path and id.

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

    def share(self, bases: list[Reader] | None) -> None:
        """Use bases that are already open; they must be those with which the view was saved."""
        if bases is not None and self.file is not None:
            self.__dict__["files"] = OpenFiles(self._footer(self.file), self.file, bases)

    def _footer(self, file: Reader) -> ViewFooter:
        footer = footer_of(file)
        if footer["id"] != self.id:
            raise MismatchError(f"{self.path}: the view changed since this dataset was pickled; open it again")
        return footer

    @cached_property
    def files(self) -> OpenFiles:
        """The files of the view; its bases must be those with which it was saved.

        Raises:
            MismatchError: The view or a base has changed.
        """
        # Open the file once and read everything from it: another view may replace it at any moment.
        file = self.kind([self.path], **self.options) if self.file is None else self.file
        footer = self._footer(file)
        entries = footer["base"]
        if not isinstance(self.bases, EllipsisType) and len(self.bases) != len(entries):
            raise ValueError(f"{self.path}: this view has {len(entries)} bases; base= gives {len(self.bases)}")
        bases = [
            open_base(file, self.path, i, base, None if isinstance(self.bases, EllipsisType) else [self.bases[i]])
            for i, base in enumerate(entries)
        ]
        return OpenFiles(footer, file, bases)

    def with_options(self, options: Mapping[str, Any]) -> "SavedView":
        """The same view, with its files opened with other options."""
        return replace(self, options={**self.options, **options}, file=None)

    def rows(self) -> _core.Rows:
        """The samples."""
        return _core.compose_saved(self.files.file, self.files.bases)

    def schema(self) -> dict[str, str]:
        """The types of the view's columns."""
        own = schema(self.files.file)
        types = schema_of_all(self.files.bases, own)
        if not self.files.file._base_len():
            # The file of an empty view only names its columns; their types come from its bases.
            types |= {name: text for name, text in schema_of_all(self.files.bases, {}).items() if name in own}
        return types


@dataclass(eq=False)
class SavedViews:
    """The definition of a directory of saved views; it is pickled as the paths and ids of its shards.

    Attributes:
        kind: The class of the dataset.
        shards: Absolute path and id of each shard.
        options: Keywords of `kind`.
        bases: The absolute paths of the bases; `...` to use the paths in the views.
        open_files: The own file of each shard, if they are open.
    """

    # Other views have these attributes; compare `ViewDefinition`.
    own: ClassVar[tuple[tuple[str, Any], ...]] = ()
    lengths: ClassVar[str | None] = None
    kind: type[Any]
    shards: list[tuple[str, str]]
    options: dict[str, Any]
    bases: EllipsisType | list[str]
    open_files: list[Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("SavedViews", self.kind, self.shards, self.options, self.bases)

    @cached_property
    def parts(self) -> tuple[Any, ...]:
        """The view of each shard. Shards over the same datasets share the open files.

        Raises:
            MismatchError: A shard or a base has changed.
        """
        opened: dict[str, list[Reader]] = {}
        parts: list[Any] = []
        for i, (path, id_) in enumerate(self.shards):
            file = self.kind([path], **self.options) if self.open_files is None else self.open_files[i]
            view = SavedView(self.kind, path, id_, self.options, self.bases, file)
            bases = json.dumps(footer_of(file)["base"])
            view.share(opened.get(bases))
            opened[bases] = view.files.bases
            parts.append(file._derive(rows=view.rows(), definition=view))
        return tuple(parts)

    def with_options(self, options: Mapping[str, Any]) -> "SavedViews":
        """The same views, with their files opened with other options."""
        return replace(self, options={**self.options, **options}, open_files=None)

    def rows(self) -> _core.Rows:
        """The samples."""
        return _core.compose(list(self.parts), [], None)

    def schema(self) -> dict[str, str]:
        """The types of the view's columns."""
        return schema_of_all(self.parts, {})


def open_view(file: D, bases: Bases, options: dict[str, Any]) -> D:
    """The view whose own file is open as `file`."""
    if bases is None:
        name = path_of(file)
        raise MismatchError(f"{name}: this is a saved view, which reads other files; base=None refuses them")
    given = bases if isinstance(bases, EllipsisType) else absolute_paths(resolved(bases))
    if len(file._shard_paths) > 1:
        files = [file._derive(rows=rows) for rows in _core.view_files(file)]
        shards = [(path, id_) for path, (_, id_) in zip(file._shard_paths, file._identities(), strict=True)]
        views = SavedViews(type(file), shards, options, given, files)
        return file._derive(rows=views.rows(), definition=views)
    path = file._shard_paths[0]
    while True:
        definition = SavedView(type(file), path, file._identities()[0][1], options, given, file)
        try:
            return file._derive(rows=definition.rows(), definition=definition)
        except MismatchError:
            # For an object at a URL, the tag reveals a replacement.
            if is_url(path) or read_view(path)["id"] == definition.id:
                raise
        # Another view has replaced the file since it was opened.
        file = type(file)([path], **options)


class ViewOpener:
    """Opens many saved views: views with the same bases share the open files of these.

    Args:
        base: The open dataset that the views show.
    """

    def __init__(self, base: Reader) -> None:
        self._kind = type(base)
        self._options = {name: value for name, value in base._options.items() if name in _VIEW_OPTIONS}
        # The files of the base, by identity. A view may show only some of them.
        self._files: dict[tuple[int, str], Reader] = {}
        self._locations: dict[tuple[int, str], str] = {}
        for root in base._root_files():
            entries = [new["entry"] for new in bases_of(root, "", base._options)]
            identities = _identities(entries)
            if len(entries) == 1:
                whole = base._derive(rows=root.whole(), indices=None, columns=None, decoders=None)
                self._files[identities[0]] = whole
            places = zip(identities, [entry.get("location") for entry in entries], strict=True)
            self._locations |= {identity: place for identity, place in places if place is not None}
        # The bases of views that show files which are not open here, or only a part of an open file.
        self._opened: dict[tuple[tuple[int, str], ...], list[Reader]] = {}

    def open(self, path: str) -> Reader:
        """The saved view at a path.

        Raises:
            MismatchError: The file is not a saved view, or its bases have changed.
        """
        file = self._kind([path], **self._options)
        footer = footer_of(file)
        bases = _identities(footer["base"])
        files = [self._files[identity] for identity in bases if identity in self._files]
        # A view opens no URL that the user did not name. The base was named, so its views are opened with the URLs of
        # the base.
        named = [self._locations[identity] for identity in bases if identity in self._locations]
        places = named if len(named) == len(bases) else ...
        view = SavedView(self._kind, path, footer["id"], self._options, places, file)
        view.share(files if len(files) == len(bases) else self._opened.get(bases))
        self._opened[bases] = view.files.bases
        return file._derive(rows=view.rows(), definition=view)


def _identities(bases: Sequence[Base]) -> tuple[tuple[int, str], ...]:
    return tuple((base["num_samples"], base["id"]) for base in bases)


def absolute_paths(bases: Path | Sequence[Path]) -> list[str]:
    """Absolute paths of one or several bases; URLs stay as they are."""
    given = [bases] if isinstance(bases, str | bytes | os.PathLike) else bases
    places = [os.fsdecode(place) for place in given]
    return [place if is_url(place) else os.path.abspath(place) for place in places]  # noqa: PTH100


def open_base(file: D, view: str, i: int, base: Base, places: Sequence[str] | None = None) -> D:
    """Open a base of a saved view; refuse any dataset other than the one with which the view was saved.

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
