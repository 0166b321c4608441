"""A plugin that runs mosaicml-streaming's own tests with our reader, their remote directories in a bucket.

    python -m pytest --noconftest -p drop_in.streaming_suite TESTS/test_reader.py

`make test-streaming-own` gets the tests and chooses the files. `LEFT_OUT` says which tests do not apply, and why.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bucket

# Their conftest would have these; it also wants moto and clients of all stores. The name `tests` is theirs here.
from tests.common.utils import (  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    compressed_local_remote_dir,
    local_remote_dir,
)

__all__ = ["compressed_local_remote_dir", "local_remote_dir"]

# One process: without these Streaming asks torch.distributed.
os.environ.update(WORLD_SIZE="1", LOCAL_WORLD_SIZE="1", RANK="0", LOCAL_RANK="0")

LEFT_OUT: dict[str, str] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what does not apply."""
    for item in items:
        for pattern, reason in LEFT_OUT.items():
            if re.search(pattern, item.nodeid):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def our_reader_and_a_bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[bucket.Bucket]:
    """Our reader in place of Streaming's; a `remote=` that is a directory is the URL of it in a bucket."""
    from streaming import Stream
    from streaming.base.util import clean_stale_shared_memory

    import jinx.mds

    clean_stale_shared_memory()
    with bucket.served(Path("/")) as store:
        for name, value in {**store.environment, "S3_ENDPOINT_URL": f"http://{store.address}"}.items():
            monkeypatch.setenv(name, value)
        initialize: Any = Stream.__init__

        def at_urls(self: Stream, *arguments: Any, **options: Any) -> None:
            remote, local = options.get("remote"), options.get("local")
            if remote and local and "://" not in remote and Path(remote).resolve() != Path(local).resolve():
                options["remote"] = store.url(str(Path(remote).resolve())[1:])
            initialize(self, *arguments, **options)

        monkeypatch.setattr(Stream, "__init__", at_urls)
        jinx.mds.patch_streaming()
        try:
            yield store
        finally:
            jinx.mds.unpatch_streaming()
            USED.append(len(store.requests))


USED: list[int] = []


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says how much of it went through the bucket."""
    terminalreporter.write_line(
        f"{sum(map(bool, USED))} of {len(USED)} tests read from the bucket: {sum(USED)} requests"
    )
