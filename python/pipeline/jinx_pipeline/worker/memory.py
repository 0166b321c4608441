"""The memory of this machine or container, and what processes use of it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from jinx._sizes import parse_size

if TYPE_CHECKING:
    from jinx_pipeline.recipe.model import Options

# Of the memory of a machine, for all workers together.
USABLE_SHARE = 0.9
_PAGE = os.sysconf("SC_PAGE_SIZE")
_GROUP = Path("/sys/fs/cgroup")


def private_bytes(pid: int) -> int:
    """The resident memory of a process, without mapped files; 0 if it is gone."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text("ascii").split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * _PAGE


def over_limit(limit: int) -> str:
    """Why a worker that used more was killed."""
    return f"killed: it used more than {limit:,} bytes of memory"


def usable_memory() -> int:
    """Bytes of memory of this machine or container."""
    total = os.sysconf("SC_PHYS_PAGES") * _PAGE
    limit = _group_limit()
    return total if limit is None else min(limit, total)


def free_memory() -> int:
    """Bytes of memory of this machine or container that nobody uses; where that is not known, all it has."""
    try:
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text("ascii").splitlines())
    except OSError:
        return usable_memory()
    free = int(lines["MemAvailable"].split()[0]) * 1024
    limit = _group_limit()
    if limit is None:
        return free
    used = int((_GROUP / "memory.current").read_text("ascii"))
    # Files that were read once are given up for programs.
    files = dict(line.split() for line in (_GROUP / "memory.stat").read_text("ascii").splitlines())
    return min(free, limit - used + int(files["inactive_file"]))


def _group_limit() -> int | None:
    """What the container may use, if it is one and has a limit."""
    try:
        limit = (_GROUP / "memory.max").read_text("ascii").strip()
    except OSError:
        return None
    return int(limit) if limit.isdigit() else None


def memory_share(options: "Options", workers: int) -> int:
    """Bytes that one of so many workers may use."""
    if options.memory is not None:
        return parse_size(options.memory)
    return int(usable_memory() * USABLE_SHARE / workers)
