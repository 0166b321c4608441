"""Skips this directory without MLDataForge, and keeps the files that it leaves in a directory of pytest."""

import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.mldf)


@pytest.fixture(scope="session", autouse=True)
def _leftovers(tmp_path_factory: pytest.TempPathFactory):
    """The 1.0 reader copies each index into a temporary file and leaves it there."""
    before, tempfile.tempdir = tempfile.tempdir, str(tmp_path_factory.mktemp("leftovers"))
    yield
    tempfile.tempdir = before
