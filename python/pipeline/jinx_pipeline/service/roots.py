"""The directories of a service, by name. A client names files as `ROOT/path`, and reaches nothing outside."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from jinx._suggest import hint
from jinx_pipeline.service.errors import ServiceError, not_found

_MAX_NAME: Final = 1_000
_MAX_DEPTH: Final = 6
_MAX_LISTED: Final = 1_000
_SUFFIXES: Final = (".jinx", ".parquet", ".jsonl", ".arrow")


class Roots:
    """Directories by name.

    Args:
        readable: The directories whose files may be read.
        writable: The directories in which outputs may be written; they are readable too.
        own: A directory of the service, in which bases of views may lie. Clients do not see it, also in a root.

    Raises:
        NotADirectoryError: A directory does not exist.
    """

    def __init__(
        self, readable: Mapping[str, Path], writable: Mapping[str, Path] | None = None, own: Path | None = None
    ) -> None:
        self.writable = {name: _directory(path) for name, path in (writable or {}).items()}
        self.readable = {name: _directory(path) for name, path in readable.items()} | self.writable
        self._own = None if own is None else own.resolve()

    def existing(self, name: str) -> Path:
        """The file or directory that a client names.

        Raises:
            ServiceError: It does not exist, or lies outside of the roots.
        """
        path = self._path(name, self.readable)
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            raise not_found(f"{name} does not exist") from None
        self._refuse_outside(name, real)
        if real.is_dir():
            for inner in _links(real):
                self._refuse_outside(name, inner.resolve())
        return real

    def new(self, name: str) -> Path:
        """The path of an output that a client names.

        Raises:
            ServiceError: It exists, or may not be written.
        """
        path = self._path(name, self.writable)
        parent = path.parent.resolve()
        if self._is_own(parent) or not any(parent.is_relative_to(root) for root in self.writable.values()):
            raise ServiceError(422, "outside", f"{name} lies outside of the directories for outputs")
        real = parent / path.name
        if os.path.lexists(real):
            raise ServiceError(409, "exists", f"{name} exists; choose another name")
        return real

    def name_of(self, path: str | os.PathLike[str]) -> str | None:
        """The name by which clients know a path; None if it is outside all readable directories."""
        for name, root in self.readable.items():
            if Path(path).is_relative_to(root):
                return f"{name}/{Path(path).relative_to(root).as_posix()}".removesuffix("/.")
        return None

    def hidden(self, text: str) -> str:
        """A message in which paths on this machine are replaced by clients' names."""
        for name, root in sorted(self.readable.items(), key=lambda item: -len(str(item[1]))):
            text = text.replace(f"{root}/", f"{name}/")
        return text if self._own is None else text.replace(f"{self._own}/", "")

    def holds(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path, after following symbolic links, is in a root or in the service's own directory."""
        real = Path(path).resolve()
        own = () if self._own is None else (self._own,)
        return any(real.is_relative_to(root) for root in (*self.readable.values(), *own))

    def datasets(self) -> list[str]:
        """The names of the datasets, sorted: at most 1,000."""
        found: list[str] = []
        for name, root in self.readable.items():
            for path in _datasets(root, _MAX_DEPTH):
                if self._is_own(path):
                    continue
                if len(found) == _MAX_LISTED:
                    return sorted(found)
                found.append(f"{name}/{path.relative_to(root).as_posix()}")
        return sorted(found)

    def _path(self, name: str, roots: Mapping[str, Path]) -> Path:
        root, _, rest = name.partition("/")
        if root not in roots:
            listed = ", ".join(roots) or "none"
            raise not_found(
                f"{name[:100]!r}: a path begins with the name of a root{hint(root, roots)}; there are: {listed}"
            )
        steps = rest.split("/")
        if len(name) > _MAX_NAME or "\0" in name or any(step in {"", ".", ".."} for step in steps):
            raise ServiceError(422, "bad_path", f"{name[:100]!r} is not a path of names with / between them")
        if any(wildcard in rest for wildcard in "*?[") or any(step.startswith(".") for step in steps):
            raise ServiceError(422, "bad_path", f"{name[:100]!r}: no wildcards, and no hidden files")
        return roots[root].joinpath(*steps)

    def _is_own(self, real: Path) -> bool:
        return self._own is not None and real.is_relative_to(self._own)

    def _refuse_outside(self, name: str, real: Path) -> None:
        holds_own = self._own is not None and self._own.is_relative_to(real)
        if holds_own or self._is_own(real) or not any(real.is_relative_to(root) for root in self.readable.values()):
            # The same message as for a missing file, so that nobody learns what else is on this machine.
            raise not_found(f"{name} does not exist")


def _directory(path: Path) -> Path:
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is not a directory")
    return path.resolve()


def _links(directory: Path) -> Iterator[Path]:
    """The symbolic links below a directory."""
    for folder, folders, files in os.walk(directory):
        for name in (*folders, *files):
            path = Path(folder, name)
            if path.is_symlink():
                yield path


def _datasets(directory: Path, depth: int) -> Iterator[Path]:
    """The datasets below a directory: files, and directories of shards."""
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_file() and entry.name.endswith(_SUFFIXES):
            yield Path(entry.path)
        elif entry.is_dir() and depth > 1 and not entry.name.endswith(".work"):
            yield from _datasets(Path(entry.path), depth - 1)
