"""Small file systems for tests of full disks."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def disk_of(place: Path, size: str) -> Iterator[Path]:
    """A file system in memory of a size such as `4m`, mounted at a new directory; the test is skipped without root."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        yield place
    finally:
        # Lazily: the traceback of a failed test may keep files open.
        subprocess.run(["umount", "-l", str(place)], check=True)


def enlarge(place: Path, size: str) -> None:
    """Give a file system another size."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(place)], check=True)
