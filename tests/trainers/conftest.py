"""A dataset whose length no number of ranks divides."""

from pathlib import Path

import pytest

import jinx
from trainers.running import COUNT


@pytest.fixture(scope="session")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("numbers") / "numbers"
    with jinx.Writer(path, shard_size="1kB") as writer:
        for n in range(COUNT):
            messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi there"}]
            writer.write({"n": n, "text": f"text {n}", "image": bytes([n]) * 80, "messages": messages})
    return path
