"""Memory limits that a container, a batch system or systemd sets for this process: cgroups of both versions.

Groups are nested, and each may have a limit; the tightest counts. If a container sees the paths of the host, they
begin with the root of its mount.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class _Version:
    """The names of the files in a version of cgroups.

    Attributes:
        limit: The limit in bytes, or a word for none.
        usage: The bytes in use, including cached files.
        files: The name in `memory.stat` for bytes of inactive cached files, which the kernel frees when needed.
    """

    limit: str
    usage: str
    files: str


_VERSIONS: Mapping[str, _Version] = {
    "cgroup2": _Version("memory.max", "memory.current", "inactive_file"),
    "cgroup": _Version("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


@dataclass(frozen=True)
class MemoryLimit:
    """A group with a limit.

    Attributes:
        limit: Bytes that its processes may use together.
        free: Unused bytes of the limit; at least 0.
    """

    limit: int
    free: int


def memory_limits(process: Path = Path("/proc/self")) -> list[MemoryLimit]:
    """The limits of all groups of a process, innermost first; empty if there are none.

    Args:
        process: The directory of the process in `/proc`.
    """
    limits = [_limit(folder, version) for folder, version in _folders(process)]
    return [limit for limit in limits if limit is not None]


def _limit(folder: Path, version: _Version) -> MemoryLimit | None:
    try:
        limit = (folder / version.limit).read_text("ascii").strip()
        if not limit.isdigit():
            return None
        used = int((folder / version.usage).read_text("ascii"))
        stats = dict(line.split() for line in (folder / "memory.stat").read_text("ascii").splitlines())
    except (OSError, ValueError):
        return None
    return MemoryLimit(int(limit), max(int(limit) - used + int(stats.get(version.files, 0)), 0))


def _folders(process: Path) -> Iterator[tuple[Path, _Version]]:
    """The directory of the process's group, then those of the enclosing groups."""
    try:
        mounts = (process / "mountinfo").read_text("utf-8").splitlines()
        groups = dict(_groups((process / "cgroup").read_text("utf-8")))
    except OSError:
        return
    for line in mounts:
        # The fields of a line: ID PARENT DEVICE ROOT PLACE OPTIONS ... - KIND SOURCE OPTIONS_OF_SUPER_BLOCK
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind not in groups or (kind == "cgroup" and "memory" not in options.split(",")):
            continue
        root, place = before.split(" ")[3:5]
        group = PurePosixPath(groups[kind])
        inner = group.relative_to(root) if group.is_relative_to(root) else PurePosixPath()
        for part in (inner, *inner.parents):
            yield Path(place) / part, _VERSIONS[kind]


def _groups(text: str) -> Iterator[tuple[str, str]]:
    """The file system type and the path of each group that may limit memory."""
    for line in text.splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            yield "cgroup2", path
        elif "memory" in controllers.split(","):
            yield "cgroup", path
