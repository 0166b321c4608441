"""What the model in `fault.replacing` puts into files: versions of a dataset, in files of every kind."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from write_1_0 import Writer as Writer10

import jinx
import jinx.mds

Row = dict[str, Any]

# Samples, and words in the text of each. Two versions of one layout give files of the same sizes.
LAYOUTS = ((9, 3), (9, 4), (12, 3), (5, 3))
MDS_COLUMNS = {"id": "str", "n": "int", "num_tokens": "int", "text": "str"}


@dataclass(eq=False)
class Version:
    """The samples of a dataset at one time.

    Attributes:
        rows: What they are.
        layout: Versions of the same one have files of the same sizes.
        grown_from: The version that has only the first of these samples.
    """

    rows: list[Row]
    layout: Any
    grown_from: "Version | None" = None

    @classmethod
    def numbered(cls, number: int, layout: int, *, has_media: bool) -> "Version":
        """Samples that no other number has."""
        count, words = LAYOUTS[layout]
        return cls([row(number, i, words, has_media=has_media) for i in range(count)], layout)

    def grown(self, more: list[Row]) -> "Version":
        """The version with more samples at its end."""
        return Version(self.rows + more, object(), self)

    def changed(self, changes: dict[int, Row]) -> "Version":
        """The version with some other samples, whose files have the same sizes."""
        return Version([changes.get(i, row) for i, row in enumerate(self.rows)], self.layout)

    def holds(self, other: "Version") -> bool:
        """Whether this is `other`, or has grown from it."""
        version: Version | None = self
        while version is not None and version is not other:
            version = version.grown_from
        return version is not None


def row(number: int, i: int, words: int, *, has_media: bool) -> Row:
    made: Row = {
        "id": f"{number:05}-{i:02}",
        "n": (number * 7 + i * 3) % 90 + 10,
        "num_tokens": (number * 5 + i * 11) % 90 + 10,
        "text": "word " * words,
    }
    return {**made, "media": f"{number:05}-{i:02}".encode() * 20} if has_media else made


def write_pair(path: Path, rows: list[Row]) -> None:
    with jinx.Writer(path) as writer:
        writer.write_many(rows)


def write_directory(path: Path, rows: list[Row]) -> None:
    with jinx.Writer(path, shard_size=700) as writer:
        writer.write_many(rows)


def write_bare_directory(path: Path, rows: list[Row]) -> None:
    write_directory(path, rows)
    (path / "jinx.json").unlink()


def write_lines(path: Path, rows: list[Row]) -> None:
    path.write_bytes(b"".join(map(line_of, rows)))


def line_of(row: Row) -> bytes:
    return json.dumps(row).encode() + b"\n"


def write_1_0(path: Path, rows: list[Row]) -> None:
    writer = Writer10(path)
    for row in rows:
        writer.write(row)
    writer.close()


def write_mds(path: Path, rows: list[Row], compression: str | None = None) -> None:
    with jinx.mds.MDSWriter(out=str(path), columns=MDS_COLUMNS, size_limit=400, compression=compression) as writer:
        for row in rows:
            writer.write(row)


def write_packed_mds(path: Path, rows: list[Row]) -> None:
    write_mds(path, rows, "zstd:3")


@dataclass(frozen=True)
class Kind:
    """A kind of base.

    Attributes:
        write: Writes a dataset.
        suffix: Of the names of its files; "" for a directory.
        has_ids: Its files say which they are.
        is_mds: It is a directory with an index.
        has_media: It can hold bytes.
        is_compressed: Its samples cannot be changed in place.
    """

    write: Callable[[Path, list[Row]], None]
    suffix: str = ""
    has_ids: bool = False
    is_mds: bool = False
    has_media: bool = False
    is_compressed: bool = False


KINDS = {
    "pair": Kind(write_pair, ".jinx", has_ids=True, has_media=True),
    "directory": Kind(write_directory, has_ids=True, has_media=True),
    "bare directory": Kind(write_bare_directory, has_ids=True, has_media=True),
    "JSON lines": Kind(write_lines, ".jsonl"),
    "JINX 1.0": Kind(write_1_0, ".jinx"),
    "MDS": Kind(write_mds, is_mds=True),
    "packed MDS": Kind(write_packed_mds, is_mds=True, is_compressed=True),
}


def parts_of(kind: Kind, path: Path) -> list[Path]:
    """The files or the directory that a dataset consists of; the one that names the others last."""
    if kind.suffix == ".jinx" and kind.has_ids:
        return [path.with_suffix(".binx"), path]
    return [path]


def files_of(path: Path) -> list[Path]:
    """The files in a directory, or the file itself."""
    return sorted(path.iterdir()) if path.is_dir() else [path]


def main_file(kind: Kind, path: Path) -> Path:
    """The file whose time of change counts."""
    return path / "index.json" if kind.is_mds else path


@dataclass
class Templates:
    """Datasets that are written once and copied wherever they are needed.

    Attributes:
        root: Where they are.
    """

    root: Path
    _known: dict[tuple[str, int, int], tuple[Version, Path]] = field(default_factory=dict)

    def get(self, name: str, number: int, layout: int) -> tuple[Version, Path]:
        """A version of a dataset of a kind, and where it is."""
        key = (name, number, layout)
        if key not in self._known:
            kind = KINDS[name]
            version = Version.numbered(number, layout, has_media=kind.has_media)
            path = self.root / f"{name}-{number}-{layout}" / f"data{kind.suffix}"
            path.parent.mkdir(parents=True)
            kind.write(path, version.rows)
            self._known[key] = version, path
        return self._known[key]

    def copy(self, name: str, number: int, layout: int, to: Path) -> Version:
        """Copy a version of a dataset."""
        version, path = self.get(name, number, layout)
        kind = KINDS[name]
        for source, target in zip(parts_of(kind, path), parts_of(kind, to), strict=True):
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copyfile(source, target)
        return version
