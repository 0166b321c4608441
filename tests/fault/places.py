"""A path under which the model in `fault.replacing` puts one dataset after another, in every way that a user can."""

import os
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import jinx
from fault.versions import KINDS, LAYOUTS, Row, Templates, Version, files_of, line_of, parts_of

VERSIONS = 12
# Times of files count from here, so that they are known.
FIRST_TIME = 1_700_000_000_000_000_000


@dataclass(eq=False)
class Files:
    """Files that lie somewhere; what is changed in place changes for everybody who has them open.

    Attributes:
        held: The versions that they held, one after another.
        time: When their main file was changed last.
        is_damaged: They hold no version as a whole any more.
    """

    held: list[Version]
    time: int
    is_damaged: bool = False

    @property
    def version(self) -> Version:
        """What they hold now."""
        return self.held[-1]


@dataclass(eq=False)
class Place:
    """A path, and the files that are there.

    Attributes:
        name: The kind of the datasets.
        root: The directory of all that belongs to it.
        templates: The datasets to put there.
        rng: Decides what happens.
        may_shrink: Files may be truncated: nobody has them mapped.
        now: What is there; None: nothing, or something else.
        is_foreign: Something else is there.
        was_foreign: It may still lie where a link led to.
    """

    name: str
    root: Path
    templates: Templates
    rng: random.Random
    may_shrink: bool
    now: Files | None = None
    is_foreign: bool = False
    was_foreign: bool = False
    _times: int = 0
    _names: int = 0
    _linked: list[Files | None] = field(default_factory=list)
    _aside: list[tuple[Files, Path]] = field(default_factory=list)
    _parents: list[tuple[Path, Files | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kind = KINDS[self.name]
        self.path = self.root / "link" / f"base{self.kind.suffix}"
        self._new_parent()
        self.replace()

    @property
    def is_right(self) -> bool:
        """Whether a whole dataset is there."""
        return self.now is not None and not self.now.is_damaged

    @property
    def reachable(self) -> list[Files]:
        """What is there, or where links led to: a saved view knows the real path, too."""
        others = self._linked + [files for path, files in self._parents if path != self._parent]
        return [files for files in [self.now, *others] if files is not None]

    def change(self) -> str:
        """Do one of all things; its name."""
        names = [name for name in CHANGES if self._can(name)]
        name = self.rng.choice(names)
        getattr(self, name)()
        return name

    def _can(self, name: str) -> bool:
        kind, now = self.kind, self.now
        if name in {"replace", "replace_equal", "replace_unseen", "switch_parent", "link_to", "be_foreign"}:
            return True
        if name == "put_back":
            return bool(self._aside)
        if now is None or now.is_damaged:
            return False
        return {
            "grow": not kind.is_mds and (kind.suffix == ".jsonl" or not kind.suffix),
            "edit": not kind.is_compressed,
            "edit_unseen": not kind.is_compressed,
            "truncate": self.may_shrink,
            "swap_part": kind.has_ids or (kind.is_mds and not kind.is_compressed),
            "hard_link_to": bool(kind.suffix),
        }.get(name, True)

    # Other files under the path.

    def replace(self) -> None:
        """Another dataset in one step."""
        self._take_place(*self._copied(self.rng.randrange(len(LAYOUTS))))

    def replace_equal(self) -> None:
        """Another dataset whose files have the same sizes."""
        self._take_place(*self._copied(self._same_layout()))

    def replace_unseen(self) -> None:
        """Another dataset whose files have the same sizes and times."""
        time = None if self.now is None else self.now.time
        self._take_place(*self._copied(self._same_layout(), time))

    def remove(self) -> None:
        """Nothing in its place."""
        self._clear()

    def recreate(self) -> None:
        """Removed and written again: on many file systems with the same inode."""
        layout = self._same_layout()
        self._clear()
        self.now = Files([self._copy(layout, self.path)], self._next_time())
        self._set_times(self.path, self.now.time)

    def move_away(self) -> None:
        """Elsewhere, from where it may come back."""
        self._set_aside()

    def put_back(self) -> None:
        """What was moved away, or a link to it."""
        self._set_aside()
        files, path = self._aside.pop(self.rng.randrange(len(self._aside)))
        for old, new in zip(parts_of(self.kind, path), parts_of(self.kind, self.path), strict=True):
            old.rename(new)
        self.now = files

    def link_to(self) -> None:
        """A symbolic link to another dataset."""
        files, path = self._copied(self.rng.randrange(len(LAYOUTS)))
        self._clear()
        for old, new in zip(parts_of(self.kind, path), parts_of(self.kind, self.path), strict=True):
            new.symlink_to(old)
        self.now = files
        self._linked.append(files)

    def hard_link_to(self) -> None:
        """A second name of another file."""
        files, path = self._copied(self._same_layout())
        for old, new in zip(parts_of(self.kind, path), parts_of(self.kind, self.path), strict=True):
            link = new.with_name("new link")
            os.link(old, link)
            link.replace(new)
        self.now = files

    def switch_parent(self) -> None:
        """The directory is a link, which leads elsewhere now."""
        self._parents = [(path, self.now if path == self._parent else files) for path, files in self._parents]
        others = [path for path, _ in self._parents if path != self._parent]
        if others and self.rng.random() < 0.5:
            self._lead_to(self.rng.choice(others))
            self.now = dict(self._parents)[self._parent]
            self.is_foreign = False
            if self.now is None:
                self._clear()
        else:
            self._new_parent()
            self.replace()

    def be_foreign(self) -> None:
        """Something that is no dataset of this kind."""
        self._clear()
        self.was_foreign = True
        if self.rng.random() < 0.5:
            self.path.write_text("no dataset")
        else:
            self.path.mkdir()
            (self.path / "notes.txt").write_text("no dataset")
        self.is_foreign = True

    # The same files, changed in place.

    def grow(self) -> None:
        """More samples at its end."""
        number = VERSIONS + int(self._next_name())
        more = Version.numbered(number, 3, has_media=self.kind.has_media).rows[:2]
        if self.kind.suffix:
            with self.path.open("ab") as file:
                file.writelines(map(line_of, more))
        elif self.name == "directory":
            with jinx.Writer(self.path, append=True) as writer:
                writer.write_many(more)
        else:
            with jinx.Writer(self.path / f"shard-9{self._next_name()}.jinx") as writer:
                writer.write_many(more)
        self._changed(self.now.version.grown(more))

    def touch(self) -> None:
        """Another time of change."""
        self._changed(self.now.version)

    def edit(self) -> None:
        """Another sample in place of one, of the same length."""
        self._edit(None)

    def edit_unseen(self) -> None:
        """As `edit`, and its time is set to what it was."""
        self._edit(self.now.time)

    def truncate(self) -> None:
        """The end of a file is cut off."""
        part = self.rng.choice(files_of(self.rng.choice(parts_of(self.kind, self.path))))
        os.truncate(part, part.stat().st_size * 2 // 3)
        self.now.is_damaged = True

    def swap_part(self) -> None:
        """One of its files is that of another version."""
        number, layout = self._number(), self._same_layout()
        other, path = self.templates.get(self.name, number, layout)
        if self.kind.suffix:
            self._swap(path.with_suffix(".binx"), self.path.with_suffix(".binx"))
            self.now.is_damaged = True
            return None
        names = {file.name for file in path.iterdir()} - {"jinx.json", "index.json"}
        part = self.rng.choice([file for file in files_of(self.path) if file.name in names])
        if self.kind.is_mds and part.stat().st_size != (path / part.name).stat().st_size:
            return self.touch()
        old = self._ids_in(part)
        self._swap(path / part.name, part)
        if not self.kind.is_mds:
            self.now.is_damaged = True
            return None
        # The index says nothing about it.
        self.now.held.append(self.now.version.changed({i: other.rows[i] for i in old}))
        return None

    # How it is done.

    def _number(self) -> int:
        return self.rng.randrange(VERSIONS)

    def _same_layout(self) -> int:
        layout = None if self.now is None else self.now.version.layout
        return layout if isinstance(layout, int) else 0

    def _next_time(self) -> int:
        self._times += 1
        return FIRST_TIME + self._times * 1_000_000

    def _next_name(self) -> str:
        self._names += 1
        return f"{self._names:04}"

    def _set_times(self, path: Path, time: int) -> None:
        for part in parts_of(self.kind, path):
            for file in [*files_of(part), part]:
                os.utime(file, ns=(time, time))

    def _copy(self, layout: int, path: Path) -> Version:
        return self.templates.copy(self.name, self._number(), layout, path)

    def _copied(self, layout: int, time: int | None = None) -> tuple[Files, Path]:
        """A version in a directory of its own."""
        folder = self.root / self._next_name()
        folder.mkdir()
        path = folder / self.path.name
        files = Files([self._copy(layout, path)], self._next_time() if time is None else time)
        self._set_times(path, files.time)
        return files, path

    def _take_place(self, files: Files, path: Path) -> None:
        for old, new in zip(parts_of(self.kind, path), parts_of(self.kind, self.path), strict=True):
            if new.is_dir() and not new.is_symlink():
                new.rename(self.root / self._next_name())
            elif old.is_dir() and (new.is_symlink() or new.exists()):
                new.unlink()
            old.replace(new)
        self.now, self.is_foreign = files, False

    def _clear(self) -> None:
        for part in parts_of(self.kind, self.path):
            if part.is_dir() and not part.is_symlink():
                shutil.rmtree(part)
            else:
                part.unlink(missing_ok=True)
        self.now, self.is_foreign = None, False

    def _set_aside(self) -> None:
        if self.now is None or self.path.is_symlink():
            self._clear()
            return
        folder = self.root / self._next_name()
        folder.mkdir()
        for part in parts_of(self.kind, self.path):
            part.rename(folder / part.name)
        self._aside.append((self.now, folder / self.path.name))
        self.now = None

    def _new_parent(self) -> None:
        parent = self.root / f"parent-{self._next_name()}"
        parent.mkdir()
        self._parents.append((parent, None))
        self._lead_to(parent)
        self.now, self.is_foreign = None, False

    def _lead_to(self, parent: Path) -> None:
        self._parent = parent
        link = self.root / "new link"
        link.symlink_to(parent)
        link.replace(self.root / "link")

    def _changed(self, version: Version, time: int | None = None) -> None:
        """The files hold a version from now on."""
        self.now.held.append(version)
        self.now.time = self._next_time() if time is None else time
        self._set_times(self.path, self.now.time)

    def _edit(self, time: int | None) -> None:
        i = self.rng.randrange(len(self.now.version.rows))
        old: Row = self.now.version.rows[i]
        new = {**old, "id": "x" + old["id"][1:]}
        text, other = old["id"].encode(), new["id"].encode()
        for file in files_of(self.path):
            data = file.read_bytes()
            if text in data and file.suffix != ".binx":
                with file.open("r+b") as opened:
                    opened.seek(data.index(text))
                    opened.write(other)
                break
        if self.kind.has_ids:
            self.now.is_damaged = True  # a checksum tells
        self._changed(self.now.version if self.kind.has_ids else self.now.version.changed({i: new}), time)

    def _swap(self, source: Path, target: Path) -> None:
        new = self.root / self._next_name()
        shutil.copyfile(source, new)
        os.utime(new, ns=(self.now.time, self.now.time))
        new.replace(target)

    def _ids_in(self, part: Path) -> list[int]:
        data = part.read_bytes()
        return [i for i, row in enumerate(self.now.version.rows) if row["id"].encode() in data]


CHANGES = [
    name
    for name, value in vars(Place).items()
    if callable(value) and not name.startswith("_") and name not in {"change", "is_right"}
]
