"""What every test may use: data made on the spot and Hypothesis profiles."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import bucket
import draw
import jinx

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


def pytest_addoption(parser: pytest.Parser) -> None:
    """With `--remote`, what tests open with `jinx.open` is read through a bucket."""
    parser.addoption("--remote", action="store_true", help="read datasets through a bucket")


@pytest.fixture(autouse=True)
def _through_a_bucket(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not request.config.getoption("--remote"):
        yield
        return
    with bucket.served(Path("/")) as store:
        for name, value in {**store.environment, "JINX_CACHE": "off"}.items():
            monkeypatch.setenv(name, value)
        local = jinx.open

        def remote(path: Any, *arguments: Any, **options: Any) -> Any:
            place = Path(path).absolute() if isinstance(path, str | os.PathLike) else Path()
            is_dataset = place.exists() and (place.suffix == ".jinx" or (place / "jinx.json").exists())
            return local(store.url(str(place)[1:]) if is_dataset else path, *arguments, **options)

        monkeypatch.setattr(jinx, "open", remote)
        yield
