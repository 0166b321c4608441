"""`--save` of the benchmarks makes its directory before anything is measured."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent
# Every benchmark with this option; `bench.run` writes a file, whose directory it makes.
NAMES = sorted(
    ".".join(file.parent.relative_to(REPOSITORY).parts)
    for file in (REPOSITORY / "bench").rglob("__main__.py")
    if '"--save"' in file.read_text("utf-8")
)


def test_benchmarks_that_save_are_found():
    assert len(NAMES) >= 17
    assert {"bench.mds", "bench.pipeline.scale", "bench.views"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_directory_of_save_is_made_first(tmp_path, name):
    command = [sys.executable, "-m", name, "--save", str(tmp_path / "new" / "er"), "--no-such-option"]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)
    assert "--no-such-option" in ended.stderr
    assert (tmp_path / "new" / "er").is_dir()
