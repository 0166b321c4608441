"""Locks on files."""

import threading

import pytest

from jinx_pipeline.store.file_lock import FileLock, LockedError


def test_a_lock_says_who_holds_it(tmp_path):
    with FileLock(tmp_path / "lock", "the first"), pytest.raises(LockedError, match="the first"):
        FileLock(tmp_path / "lock")


def test_a_lock_that_is_about_to_be_released_is_waited_for(tmp_path):
    """A killed driver leaves it to a worker that it was starting, until that one runs its own program."""
    held, released = FileLock(tmp_path / "lock"), threading.Event()

    def release():
        released.set()
        held.close()

    timer = threading.Timer(0.1, release)
    timer.start()
    FileLock(tmp_path / "lock").close()
    assert released.is_set()
    timer.join()
