"""Skips this directory where mosaicml-streaming is not installed: `make test-streaming` has an environment for it."""

import importlib.util
import os

import pytest

if importlib.util.find_spec("streaming") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    # One process: without these Streaming asks torch.distributed.
    os.environ.setdefault("WORLD_SIZE", "1")
    os.environ.setdefault("LOCAL_WORLD_SIZE", "1")
    os.environ.setdefault("RANK", "0")

    @pytest.fixture(autouse=True)
    def _no_leftovers():
        """Shared memory of a run that was killed would be taken for this one's."""
        from streaming.base.util import clean_stale_shared_memory

        clean_stale_shared_memory()

    @pytest.fixture
    def patched():
        """Our reader in place of Streaming's."""
        import jinx.mds

        jinx.mds.patch_streaming()
        yield
        jinx.mds.unpatch_streaming()
