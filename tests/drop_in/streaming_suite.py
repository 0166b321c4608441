"""Runs mosaicml-streaming's own tests with our reader in place of its, their remote directories in a bucket.

    python -m drop_in.streaming_suite DIRECTORY [ARGUMENTS OF PYTEST]

DIRECTORY holds the folder `tests` of Streaming's repository at the version that is installed; `make test-streaming-own`
gets it. What is left out is listed here with its reason, and a file that is in neither list is an error.
"""

import gc
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import pytest

# Their conftest would have these fixtures; it also wants moto and clients of all stores. `tests` is theirs here.
from tests.common.utils import (  # pyright: ignore[reportMissingImports]
    compressed_local_remote_dir,  # pyright: ignore[reportUnknownVariableType]
    local_remote_dir,  # pyright: ignore[reportUnknownVariableType]
)

import bucket

__all__ = ["compressed_local_remote_dir", "local_remote_dir"]
# Those that read shards through a dataset.
FILES = ("array", "compression", "eviction", "hashing", "laziness", "local", "reader", "sampling", "stream")
FILES += ("streaming", "unsafe_types")

FILES_LEFT_OUT = {
    "barrier": "a barrier of Streaming's: no reader",
    "distributed": "its own launcher of processes; tests/drop_in/test_dataset.py reads by several",
    "download": "its clients of stores, over moto and mocks: no reader",
    "encodings": "functions that encode and decode values; tests/drop_in/test_encodings.py compares ours with them",
    "mixing": "marks a fixture, which pytest 9 refuses; tests/drop_in/test_dataset.py mixes streams",
    "partition": "numbers alone",
    "registry": "names of classes",
    "shared": "its shared memory",
    "shuffle": "numbers alone",
    "spanner": "numbers alone",
    "streaming_remote": "buckets of its authors",
    "upload": "its uploads, over moto and mocks: no reader",
    "util": "functions of its own",
    "writer": "its writer",
}
TESTS_LEFT_OUT = {
    r"test_reader_download_fail": "expects the words in which a file of this machine is missing, not an object",
}
USED: list[int] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what does not apply."""
    for item in items:
        for pattern, reason in TESTS_LEFT_OUT.items():
            if re.search(pattern, item.nodeid):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def our_reader_and_a_bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A `remote=` that is a directory of this machine is given as its URL in a bucket."""
    from streaming import Stream
    from streaming.base.util import clean_stale_shared_memory

    import jinx.mds

    clean_stale_shared_memory()
    with bucket.served(Path("/")) as store:
        # Streaming's client of S3 keeps its connection, and the forked workers of a loader would share it.
        store.closes_connections = True
        for name, value in {**store.environment, "S3_ENDPOINT_URL": f"http://{store.address}"}.items():
            monkeypatch.setenv(name, value)
        initialize: Any = Stream.__init__

        def at_urls(stream: Stream, *arguments: Any, **options: Any) -> None:
            remote, local = options.get("remote"), options.get("local")
            if remote and local and Path(remote).is_dir() and Path(remote).resolve() != Path(local).resolve():
                options["remote"] = store.url(str(Path(remote).resolve())[1:])
            initialize(stream, *arguments, **options)

        monkeypatch.setattr(Stream, "__init__", at_urls)
        jinx.mds.patch_streaming()
        try:
            yield
        finally:
            jinx.mds.unpatch_streaming()
            USED.append(len(store.requests))
            _close_leaked_memory()


def _close_leaked_memory() -> None:
    """Close the descriptors of the test's shared memory: Streaming leaves about a hundred of each dataset open."""
    gc.collect()
    for memory in gc.get_objects():
        if isinstance(memory, SharedMemory) and memory._fd >= 0:
            os.close(memory._fd)
            memory._fd = -1  # the map stays, and is not closed twice
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the descriptor of the listing
            if entry.readlink().parent == Path("/dev/shm"):
                os.close(int(entry.name))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how much of it went through the bucket."""
    reading = sum(map(bool, USED))
    terminalreporter.write_line(f"{reading} of {len(USED)} tests read from the bucket: {sum(USED)} requests")


def main() -> int:
    """Run the tests."""
    directory, *arguments = sys.argv[1:]
    found = {path.stem.removeprefix("test_") for path in Path(directory, "tests").glob("test_*.py")}
    if unknown := found.symmetric_difference({*FILES, *FILES_LEFT_OUT}):
        sys.exit(f"streaming_suite: other tests than those that are listed: {', '.join(sorted(unknown))}")
    # One process: without these Streaming asks torch.distributed.
    os.environ.update(WORLD_SIZE="1", LOCAL_WORLD_SIZE="1", RANK="0", LOCAL_RANK="0")
    files = [str(Path(directory, "tests", f"test_{name}.py")) for name in FILES]
    options = ["--noconftest", "-c", os.devnull, "--rootdir", directory, "-p", "no:cacheprovider", "-p", "no:warnings"]
    return int(pytest.main([*options, "-q", "-rs", *arguments, *files], plugins=[sys.modules[__name__]]))


if __name__ == "__main__":
    sys.exit(main())
