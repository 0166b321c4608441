"""What every test may use: data made on the spot and Hypothesis profiles."""

import os
import signal
from pathlib import Path

import hypothesis
import pytest

import draw

# A shell starts background jobs with Ctrl-C ignored, and the processes that tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("default", deadline=None, print_blob=True)
hypothesis.settings.register_profile("quick", deadline=None, print_blob=True, max_examples=10)
hypothesis.settings.register_profile("thorough", deadline=None, print_blob=True, max_examples=5000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the working tree."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def vectors(repository: Path) -> Path:
    """The specification's files with their expected values."""
    return repository / "spec" / "vectors"


@pytest.fixture(scope="session")
def chat_parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Parquet file of 60 synthetic images with conversations, as Hugging Face writes it. Read-only and shared."""
    path = tmp_path_factory.mktemp("chat") / "chat.parquet"
    draw.write_parquet(path, samples=60)
    return path
