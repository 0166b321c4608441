"""Environments of bench: made once and whole, by the first installer that can."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench import environments


def installer(script: str) -> environments._Installer:
    """One that makes an environment with mkdir, and installs with a script that is given the requirements as $2."""
    return environments._Installer(["mkdir"], ["sh", "-c", script, "sh"], [])


@pytest.fixture
def installers(tmp_path, monkeypatch) -> list[environments._Installer]:
    """The installers to take, none at first, of the environment `peer`."""
    chosen: list[environments._Installer] = []
    (tmp_path / "peer.in").write_text("peer\n")
    (tmp_path / "peer.txt").write_text("peer==1\n")
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    monkeypatch.setattr(environments, "_installers", lambda python: chosen)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return chosen


def test_another_installer_is_tried_from_the_start(tmp_path, installers):
    half = f'mkdir "{tmp_path}"/cache/jinx/bench/environments/peer-*[0-9a-f]/half; exit 1'
    installers += [installer(half), installer("exit 0")]
    directory = environments.python_of("peer").parents[1]
    assert [path.name for path in directory.iterdir()] == [".complete"]


def test_what_could_not_be_installed_is_made_anew(installers):
    installers += [installer("echo no index >&2; exit 1"), installer("echo no certificate >&2; exit 1")]
    for _ in range(2):
        with pytest.raises(environments.InstallError, match="no index; no certificate"):
            environments.python_of("peer")
    installers.append(installer("exit 0"))
    assert environments.python_of("peer").parent.name == "bin"


def test_two_that_need_an_environment_make_it_once(tmp_path, installers):
    installers.append(installer(f'sleep 0.2; echo "$2" >> "{tmp_path}/installed"'))
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(environments.python_of, ["peer"] * 4))) == 1
    assert (tmp_path / "installed").read_text().split() == [str(tmp_path / "peer.txt")]


def test_modules_that_run_in_an_environment_leave_that_of_their_importer_alone():
    # Installers of environments inherit it: `UV_OFFLINE` there keeps uv from installing anything.
    names = [f"bench.{name}.theirs" for name in ("models", "operators", "operators.images", "operators.videos")]
    script = f"import os; before = dict(os.environ); import {', '.join(names)}; assert before == dict(os.environ)"
    subprocess.run([sys.executable, "-c", script], cwd=environments.ROOT, env=os.environ, check=True)
