"""Locks on files."""

import threading
import time

import pytest

from jinx_pipeline.store.file_lock import FileLock, LockedError


def test_a_lock_says_who_holds_it(tmp_path):
    with FileLock(tmp_path / "lock", "the first"), pytest.raises(LockedError, match="the first"):
        FileLock(tmp_path / "lock")


def test_a_lock_that_is_about_to_be_released_is_waited_for(tmp_path):
    """A killed driver leaves it to a worker that it was starting, until that one runs its own program."""
    held = FileLock(tmp_path / "lock")
    release = threading.Timer(0.1, held.close)
    release.start()
    began = time.monotonic()
    FileLock(tmp_path / "lock").close()
    assert 0.05 < time.monotonic() - began < 0.4
    release.join()
