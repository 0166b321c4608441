"""The state of a worker's process is read without changing it, and restored after operators have changed it."""

import os
import sys

import pytest

from jinx_pipeline.worker.process_state import ProcessState


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the umask")
def test_the_umask_is_read_without_a_moment_in_which_it_is_another_one(monkeypatch):
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(os, "umask", lambda mask: pytest.fail(f"set to {mask:o}"))
            state = ProcessState.now()
        assert state.umask == 0o027
        os.umask(0o077)
        assert state.changes() == ["the umask"]
        assert state.restore()
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
