"""A bound on all memory of a process, its page cache included, where the system lets us set one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_V1 = Path("/sys/fs/cgroup/memory")
_V2 = Path("/sys/fs/cgroup")


@contextmanager
def memory_group(limit: int) -> Iterator[Path | None]:
    """A control group of at most `limit` bytes, removed at the end; None where it cannot be made."""
    group, setting = (
        (_V1 / f"jinx-bench-{os.getpid()}", "memory.limit_in_bytes")
        if (_V1 / "memory.limit_in_bytes").exists()
        else (_V2 / f"jinx-bench-{os.getpid()}", "memory.max")
    )
    try:
        group.mkdir()
        (group / setting).write_text(str(limit))
    except OSError:
        with suppress(OSError):
            group.rmdir()
        yield None
        return
    try:
        yield group
    finally:
        group.rmdir()


def join(group: str) -> None:
    """Move this process into a control group; its children follow."""
    (Path(group) / "cgroup.procs").write_text(str(os.getpid()))
