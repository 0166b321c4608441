"""What the fault tests share: how long they run, and the shim that makes calls fail."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def soak() -> bool:
    """Whether to run for hours: `make soak`."""
    return os.environ.get("JINX_SOAK") == "1"


@pytest.fixture
def directory(tmp_path: Path, soak: bool) -> Iterator[Path]:
    """An empty directory: in memory, where a sync costs nothing, and on the disk when there is time."""
    memory = Path("/dev/shm")
    if soak or not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < 1 << 28:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="jinx-fault-") as name:
        yield Path(name)


@pytest.fixture(scope="session")
def child_environment() -> dict[str, str]:
    """For child processes: they import the tests and the same jinx, and few threads take address space."""
    inherited = [path for path in [os.environ.get("PYTHONPATH")] if path]
    found = os.pathsep.join([str(HERE.parent), str(HERE.parent.parent / "spec" / "vectors"), *inherited])
    calm = {"PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    return {**os.environ, **calm, "PYTHONPATH": found}


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled shim; the test is skipped where it cannot be compiled or may not trace."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) to build tests/fault/shim.c with")
    program = tmp_path_factory.mktemp("shim") / "shim"
    subprocess.run([compiler, "-O2", "-Wall", "-Werror", "-o", program, HERE / "shim.c"], check=True)
    tried = subprocess.run([program, sys.executable, "-c", ""], check=False, capture_output=True)
    if tried.returncode in {98, 99}:
        pytest.skip("calls cannot be traced here (the machine's kind or its rules forbid it)")
    assert tried.returncode == 0
    return program


@pytest.fixture
def kill_runs(shim: Path, directory: Path, child_environment: dict[str, str]) -> Callable[..., dict[str, Any]]:
    """Kills pipeline runs at their calls: a case of `fault.killing_runs`, every so many-th call, the first one."""

    def kill(case: str, every: int, first: int, *address: str) -> dict[str, Any]:
        words = ["-m", "fault.killing_runs", *case.split(), str(directory), str(every), str(first), *address]
        options = ["--under-test"] if address else []
        command = [str(shim), *options, sys.executable, *words]
        done = subprocess.run(command, env=child_environment, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    return kill
