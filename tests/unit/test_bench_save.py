"""`--save` of the benchmarks makes its directory before anything is measured."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("name", ["views", "operators", "pipeline", "packing", "order", "mds", "ray", "cold"])
def test_the_directory_of_save_is_made_first(repository, tmp_path, name):
    command = [sys.executable, "-m", f"bench.{name}", "--save", str(tmp_path / "new" / "er"), "--no-such-option"]
    ended = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=120, check=False)
    assert "--no-such-option" in ended.stderr
    assert (tmp_path / "new" / "er").is_dir()
