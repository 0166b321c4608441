"""What an open dataset or a saved view shows, as the model in `fault.replacing` knows it."""

import pickle
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fault.places import Files, Place
from fault.versions import Row, Version


class Ref(NamedTuple):
    """A sample that something shows.

    Attributes:
        place: Where it was.
        files: The files.
        version: What they held when they were opened.
        time: When they had been changed last.
        i: Which of their samples.
        own: Columns of views, or functions of the sample.
        hidden: Columns of the files that are not shown.
        is_saved: The files are those of a saved view, which knows less of them than a dataset that was opened.
        is_unsure: The files were opened again when they had changed; only what is read of them is compared.
    """

    place: Place
    files: Files
    version: Version
    time: int
    i: int
    own: tuple[tuple[str, Any], ...] = ()
    hidden: frozenset[str] = frozenset()
    is_saved: bool = False
    is_unsure: bool = False

    def row(self, version: Version | None = None, computed: Version | None = None) -> Row:
        """The sample, as it was or as another version has it; `computed`: what functions are given."""
        stored = (version or self.version).rows[self.i]
        given = (computed or version or self.version).rows[self.i]
        shown = {name: value for name, value in stored.items() if name not in self.hidden}
        for name, value in self.own:
            shown.pop(name, None)
            shown[name] = value(given) if callable(value) else value
        return shown

    def anchored(self) -> "Ref":
        """The same in files that were opened again."""
        now = self.place.now
        if now is None or now.is_damaged or not self.is_same(now):
            return self._replace(is_unsure=True)
        return self._replace(files=now, time=now.time, is_unsure=False)

    def only(self, name: str) -> "Ref":
        """One column of it."""
        own = tuple(pair for pair in self.own if pair[0] == name)
        return self._replace(own=own, hidden=self.hidden | self.version.rows[self.i].keys() - {name})

    def is_same(self, files: Files) -> bool:
        """Whether a dataset that is opened again cannot tell these files from its own."""
        kind, then, now = self.place.kind, self.version, files.version
        if kind.has_ids:
            return now.holds(then)
        same_sizes = now.layout == then.layout
        if kind.is_mds:
            # What a saved view knows is the hash of the index, which lists sizes.
            return same_sizes and (self.is_saved or files.time == self.time)
        if self.is_saved:
            return same_sizes and (kind.suffix == ".jinx" or files.time == self.time)
        # The hash is made of what is open, which may have been changed in place.
        return files.time == self.time and (now is then or (files is self.files and same_sizes))

    def versions(self, *, reopens: bool) -> set[Version]:
        """What may be shown: more than one where the documentation says that a change is not detected."""
        found = {self.version}
        if not self.place.kind.has_ids and not reopens:
            found.update(self.files.held)  # changed in place
        if reopens and not self.place.kind.has_ids:
            found.update(version for files in self.place.reachable if self.is_same(files) for version in files.held)
        return {version for version in found if self.i < len(version.rows)}


@dataclass(eq=False)
class Content:
    """What a dataset or a saved view shows.

    Attributes:
        refs: Its samples.
        bases: A sample of each dataset below it, shown or not.
    """

    refs: list[Ref]
    bases: list[Ref]

    def saved(self) -> "Content":
        """The same, found through a saved view, which holds the values of its columns."""
        refs = [
            ref._replace(own=tuple((name, ref.row()[name]) for name, _ in ref.own), is_saved=True) for ref in self.refs
        ]
        return Content(refs, [ref._replace(is_saved=True) for ref in self.bases])


@dataclass(eq=False)
class ViewFile:
    """A file of a saved view; another one may replace it.

    Attributes:
        path: Where it is.
        content: What it shows; None if it is gone.
    """

    path: Path
    content: Content | None


@dataclass(eq=False)
class Shown(Content):
    """An open dataset or view and what it shows.

    Attributes:
        dataset: The dataset.
        views: The saved views that it was opened from, and what they showed.
    """

    dataset: Any = None
    views: tuple[tuple[ViewFile, Content], ...] = ()

    def but(self, dataset: Any, refs: list[Ref]) -> "Shown":
        """A view of it."""
        return Shown(refs, self.bases, dataset, self.views)


def loud(sample: Any) -> str:
    """A column of a function."""
    return sample["id"] + "!"


def code_of(sample: Any) -> int:
    """A token that tells a sample."""
    return zlib.crc32(sample["id"].encode()) >> 1


def encode(sample: Any) -> dict[str, list[int]]:
    """As many tokens as the plan was made of."""
    return {"input_ids": [code_of(sample)] * int(sample["num_tokens"])}


def first_tokens(packs: Any) -> list[list[int]]:
    """Which samples a batch of packs holds."""
    return [[int(sample.input_ids[0]) for sample in pack] for pack in packs]


def plain(value: Any) -> Any:
    """A value that can be compared, whatever it was stored as."""
    return value.item() if isinstance(value, np.generic) else value


def rows_of(samples: Any) -> list[Row]:
    """Samples as plain dicts."""
    return [{name: plain(value) for name, value in dict(sample).items()} for sample in samples]


def rows_of_pickle(text: bytes) -> list[Row]:
    """What another process finds."""
    return rows_of(pickle.loads(text))
