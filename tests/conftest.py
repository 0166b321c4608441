"""What every test may use: data made on the spot and Hypothesis profiles."""

import contextlib
import json
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
from jinx import _core

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out with `--remote` what is about files of this machine."""
    if not config.getoption("--remote"):
        return
    chosen = [item for item in items if item.get_closest_marker("local") is None]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def _base_of(store: bucket.Bucket, view: Path, base: dict[str, Any]) -> str:
    """A dataset that a view shows: through the bucket, unless it has to be a local file."""
    if "path" not in base:
        return base["location"]
    place = os.path.normpath(view.parent / base["path"])
    return store.url(place[1:]) if base["kind"] in {"pair", "directory"} else place


@pytest.fixture(autouse=True)
def through_a_bucket(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bucket.Bucket | None]:
    """With `--remote`, the bucket that holds all files of this machine, through which tests read."""
    if not request.config.getoption("--remote"):
        yield None
        return
    with bucket.served(Path("/")) as store:
        variables = {**store.environment, "S3_ENDPOINT_URL": f"http://{store.address}", "JINX_CACHE": "off"}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        local = jinx.open

        def remote(path: Any, *arguments: Any, **options: Any) -> Any:
            place = Path(path).absolute() if isinstance(path, str | os.PathLike) else Path()
            is_file, is_directory = place.suffix == ".jinx" and place.is_file(), (place / "jinx.json").exists()
            if not is_file and not is_directory:
                return local(path, *arguments, **options)
            with contextlib.suppress(jinx.JinxError, OSError):
                if "base" not in options and is_file and (view := _core.view_footer(str(place))):
                    # What the view shows is named, because a view from elsewhere opens no URL by itself.
                    options["base"] = [_base_of(store, place, base) for base in json.loads(view)["base"]]
            return local(store.url(str(place)[1:]), *arguments, **options)

        monkeypatch.setattr(jinx, "open", remote)
        yield store
