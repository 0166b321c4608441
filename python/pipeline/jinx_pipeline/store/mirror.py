"""Files in object stores as local paths, so that all code can work with paths.

A path in the mirror of a node stands for a URL: `MIRROR/s3/bucket/work/CURRENT` for `s3://bucket/work/CURRENT`. The
mirror is a directory on a local disk, and every node has its own, perhaps at another place: `local` translates the
paths in messages from other nodes. Only the objects count; what is in a mirror may be lost at any time.

Nothing becomes visible to other nodes before `push`, and what another node has pushed is read by `readable`, in ranges,
or as a whole by `fetched`. All other functions leave paths outside the mirror as they are.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar

from jinx._object_store import ObjectInfo, ObjectStore
from jinx._urls import is_readable

# The directory in which the mirror begins, and the schemes in it.
_MIRROR: Final = ".jinx-mirror"
_SCHEMES: Final = ("s3", "gs", "az")
# In directories with this name, a name never stands for two different files.
_WRITTEN_ONCE: Final = "parts"
# While this share of the disk is free, a part is kept for the next reader on this node.
_FREE_SHARE: Final = 0.1
# How long a store may fail before a run gives up, and the delays between requests. The core has already retried each
# request.
PATIENCE_SECONDS: Final = float(os.environ.get("JINX_STORE_PATIENCE", "900"))
_FIRST_DELAY_SECONDS, _MAX_DELAY_SECONDS = 0.5, 30.0

T = TypeVar("T")


class StoreError(OSError):
    """Raised if an object store keeps failing; the message names the URL. The run can be resumed later."""

    concerns_all_rows = True


class ObjectError(OSError):
    """Raised if a store works, but a single object is missing, may not be read, or was replaced meanwhile."""


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a URL of an object store that the pipeline can write to."""
    text = os.fspath(path)
    return is_readable(text) and text.partition("://")[0].lower() in _SCHEMES


def mirrored(path: str) -> Path:
    """The path in the mirror that stands for a URL; other paths are returned unchanged."""
    if not is_remote(path):
        return Path(path)
    scheme, _, key = path.partition("://")
    return _mirror() / scheme.lower() / key.rstrip("/")


def url_of(path: str | os.PathLike[str]) -> str | None:
    """The URL for which a path stands; None if it is not in a mirror."""
    _, is_in_mirror, key = os.fspath(path).partition(f"/{_MIRROR}/")
    if not is_in_mirror:
        return None
    scheme, _, name = key.partition("/")
    return f"{scheme}://{name}"


def shown(path: str | os.PathLike[str]) -> str:
    """A path as users know it: for a path in the mirror, the URL."""
    return url_of(path) or os.fspath(path)


def local(path: str | os.PathLike[str]) -> Path:
    """The path in the mirror of this node for a path in the mirror of any node."""
    url = url_of(path)
    return Path(path) if url is None else mirrored(url)


def writable(path: str | os.PathLike[str]) -> Path:
    """The path on this node at which a file can be written; in the mirror, its directory is created."""
    own = local(path)
    if url_of(path) is not None:
        own.parent.mkdir(parents=True, exist_ok=True)
    return own


def fetched(path: str | os.PathLike[str]) -> Path:
    """The path of a whole file on this node; it is read from the store unless it is known to be current.

    Raises:
        FileNotFoundError: There is no such object.
    """
    url, own = url_of(path), writable(path)
    if url is None or own in _current or (own.parent.name == _WRITTEN_ONCE and own.exists()):
        return own
    _copy(url, own)
    _current.add(own)
    return own


def downloaded(url: str) -> Path:
    """The path on this node of a fresh copy of an object.

    Raises:
        FileNotFoundError: There is no such object.
        ValueError: It is not in a store that has a mirror.
    """
    if not is_remote(url):
        raise ValueError(f"{url}: only {', '.join(f'{scheme}://' for scheme in _SCHEMES)} and paths are supported here")
    own = writable(mirrored(url))
    _copy(url, own)
    return own


def _copy(url: str, own: Path) -> None:
    """Replace a file by an object; the file is never incomplete."""
    temporary = own.with_name(f".{own.name}.{os.getpid()}.fetched")
    temporary.unlink(missing_ok=True)
    patiently(lambda: object_store().get_file(url, temporary))
    temporary.replace(own)


def readable(path: str | os.PathLike[str]) -> str:
    """The path of a dataset or file that was written only once: on this node if it is there, otherwise its URL."""
    url = url_of(path)
    if url is None:
        return os.fspath(path)
    own = local(path)
    return str(own) if own.exists() else url


def exists(path: Path) -> bool:
    """Whether a file exists, or an object if the path stands for its URL."""
    url = url_of(path)
    return path.exists() if url is None else patiently(lambda: object_store().exists(url))


def size_of(path: Path) -> int:
    """The size in bytes of a file on any node."""
    name = readable(path)
    return patiently(lambda: object_store().head(name).size) if is_remote(name) else Path(name).stat().st_size


def read_range(url: str, start: int, end: int) -> bytes:
    """A range of bytes of an object, which must not end earlier.

    Raises:
        FileNotFoundError: There is no such object.
    """
    return patiently(lambda: object_store().get_range(url, start, end))


def push(path: Path) -> None:
    """Make a file visible to all nodes, replacing an older one."""
    url = url_of(path)
    if url is not None:
        patiently(lambda: object_store().put_file(url, path))
        _current.add(path)


def push_part(path: Path) -> None:
    """Make a part visible to all nodes, in any of its forms: a directory, or a file with its sidecar.

    The name of a part has the attempt and the driver, so that nothing else is ever written under it.
    """
    if url_of(path) is None or not path.exists():
        return
    for file in part_files(path):
        url = str(url_of(file))
        patiently(lambda url=url, file=file: object_store().put_file(url, file))
    total, _, free = shutil.disk_usage(path.parent)
    if free < _FREE_SHARE * total:
        remove_local(path)


def part_files(path: Path) -> list[Path]:
    """The files of a part; the one that makes it a dataset comes last."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return sorted(files, key=lambda file: file.name == "jinx.json")
    sidecar = path.with_suffix(".binx")
    return [file for file in (sidecar, path) if file.is_file()]


def remove_local(path: Path) -> None:
    """Remove a part in any of its forms from this node's disk."""
    _current.discard(path)
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
        path.with_suffix(".binx").unlink(missing_ok=True)


def forget() -> None:
    """Read all files again when they are needed, because another run begins."""
    _current.clear()


def patiently(call: Callable[[], T]) -> T:
    """Call a store, and retry for some time if it fails.

    Raises:
        FileNotFoundError, FileExistsError, ObjectError: As the call raises them; the store works.
        StoreError: It fails for too long, or refuses the credentials.
    """
    until, delay = time.monotonic() + PATIENCE_SECONDS, _FIRST_DELAY_SECONDS
    while True:
        try:
            return call()
        except (FileNotFoundError, FileExistsError, ObjectError):
            raise  # the store works; the error is about the file
        except OSError as error:
            # Retry, because the credentials may be renewed meanwhile.
            if time.monotonic() + delay > until:
                raise StoreError(f"{error}; the store has failed for {PATIENCE_SECONDS:,.0f} s") from error
        time.sleep(delay)
        delay = min(2 * delay, _MAX_DELAY_SECONDS)


def names_below(url: str, infos: Iterable[ObjectInfo]) -> list[str]:
    """The names of listed objects and directories directly below a URL."""
    return sorted({info.url.removeprefix(f"{url}/").partition("/")[0] for info in infos})


@lru_cache(maxsize=1)
def object_store() -> ObjectStore:
    """The object stores, as configured by the environment of this process."""
    return ObjectStore()


@lru_cache(maxsize=1)
def _mirror() -> Path:
    """The mirror on this node; after a restart of the machine, files written before are not trusted."""
    boot = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")[:8]
    scratch = os.environ.get("JINX_SCRATCH") or os.path.join(tempfile.gettempdir(), f"jinx-{os.getuid()}")  # noqa: PTH118
    path = Path(scratch).absolute() / boot / _MIRROR
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


# The files of the mirror that this process has pushed or fetched.
_current: set[Path] = set()
