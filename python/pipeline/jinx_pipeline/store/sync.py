"""Syncs directories, so that new names in them survive a crash."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Wait until the names in a directory are on disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
