"""Datasets at URLs: their files, and how they are removed and cleaned. Nothing there can be locked or renamed."""

import re
import time
from dataclasses import dataclass
from typing import Self

from jinx._object_store import ObjectInfo, ObjectStore
from jinx.errors import MismatchError

_MANIFEST = "jinx.json"
_ID_START, _ID_END, _HEADER_BYTES = 16, 32, 64
# `.STEM.binx.<id>`: a new sidecar, while readers still have the replaced one open.
_SECOND = re.compile(r"\.(?P<stem>.+)\.binx\.(?:[0-9a-f]{32}|old)$")


@dataclass(frozen=True)
class RemoteParts:
    """The objects of a dataset at a URL.

    Attributes:
        url: The `.jinx` file or the directory.
        objects: All objects, the one that names the others first, and the sidecars last.
    """

    url: str
    objects: list[ObjectInfo]

    @classmethod
    def of(cls, url: str, store: ObjectStore) -> Self:
        """The objects of the dataset at a URL.

        Raises:
            FileNotFoundError: There is no dataset.
            MismatchError: The directory also holds other objects.
        """
        url = url.rstrip("/")
        if url.endswith(".jinx"):
            store.head(url)
            directory, _, name = url.rpartition("/")
            found = [item for item in store.list(directory, recursive=False) if _main_of(_name(item)) == name]
            return cls(url, sorted(found, key=lambda item: item.url != url))
        found = store.list(url)
        if not found:
            raise FileNotFoundError(f"{url}: there is no dataset at this URL")
        others = [item.url for item in found if _main_of(item.url.removeprefix(f"{url}/")) is None]
        if others:
            raise MismatchError(f"{url}: this is not a dataset of shards alone: there is {min(others)}")
        order = {_MANIFEST: 0, ".jinx": 1}
        return cls(
            url,
            sorted(found, key=lambda item: min((at for end, at in order.items() if item.url.endswith(end)), default=2)),
        )

    def remove(self, store: ObjectStore) -> None:
        """Remove the objects: first the one that names the others, so that nobody opens half of a dataset."""
        first, rest = self.objects[0].url, [item.url for item in self.objects[1:]]
        store.delete(first)
        if rest:
            store.delete(*rest)


def remove(url: str) -> None:
    """Remove the dataset at a URL with all its objects, including those left over from datasets that it replaced.

    Raises:
        FileNotFoundError: There is no dataset.
        MismatchError: The directory also holds other objects.
    """
    store = ObjectStore()
    RemoteParts.of(url, store).remove(store)


@dataclass(frozen=True)
class Cleaned:
    """What `clean` removed and kept.

    Attributes:
        removed: The URLs of removed objects.
        kept: The URLs of objects that no dataset needs, but which are so young that an upload may be under way.
    """

    removed: list[str]
    kept: list[str]


def clean(url: str, *, older_than: float = 24 * 3600) -> Cleaned:
    """Remove JINX objects below a URL that no dataset needs.

    Args:
        url: A directory.
        older_than: Seconds. Younger objects may belong to an upload under way, or have readers that opened them before
            they were replaced.
    """
    store, now = ObjectStore(), time.time()
    removed: list[str] = []
    kept: list[str] = []
    by_directory: dict[str, list[ObjectInfo]] = {}
    for item in store.list(url.rstrip("/")):
        by_directory.setdefault(item.url.rpartition("/")[0], []).append(item)
    for directory, items in by_directory.items():
        for item in _orphans(directory, items, store):
            (removed if now - item.modified > older_than else kept).append(item.url)
    if removed:
        store.delete(*removed)
    return Cleaned(removed, kept)


def _orphans(directory: str, items: list[ObjectInfo], store: ObjectStore) -> list[ObjectInfo]:
    """The objects of a directory that no main file or manifest names."""
    by_name = {_name(item): item for item in items}
    mains = {name for name in by_name if name.endswith(".jinx")}
    if _MANIFEST in by_name:
        import json

        listed = {shard["name"] for shard in json.loads(store.get(f"{directory}/{_MANIFEST}").data)["shards"]}
        mains &= listed
    needed = mains | {_MANIFEST}
    for name in mains:
        sidecars = [other for other in by_name if other != name and _main_of(other) == name]
        needed.update(sidecars if len(sidecars) < 2 else [_sidecar_of(name, sidecars, by_name, store)])  # noqa: PLR2004
    return [item for name, item in by_name.items() if name not in needed and _main_of(name) is not None]


def _sidecar_of(main: str, sidecars: list[str], by_name: dict[str, ObjectInfo], store: ObjectStore) -> str:
    """The sidecar that a main file needs: the one with the main file's id."""
    from jinx._dataset.dataset import Dataset

    [(_, id_)] = Dataset([by_name[main].url], storage={"cache": "off"})._identities()
    usual = f"{main.removesuffix('jinx')}binx"
    if usual in sidecars:
        item = by_name[usual]
        header = store.get_range(item.url, 0, min(_HEADER_BYTES, item.size))
        if header[_ID_START:_ID_END].hex() == id_:
            return usual
    return f".{main.removesuffix('.jinx')}.binx.{id_}"


def _name(item: ObjectInfo) -> str:
    return item.url.rpartition("/")[2]


def _main_of(name: str) -> str | None:
    """The main file to which an object belongs, by their names; None for objects that are not ours."""
    if name == _MANIFEST or (name.endswith(".jinx") and not name.startswith(".")):
        return name
    second = _SECOND.fullmatch(name)
    if second is not None:
        return f"{second['stem']}.jinx"
    return f"{name.removesuffix('binx')}jinx" if name.endswith(".binx") and not name.startswith(".") else None
