"""Ray nodes that see neither each other's local directories nor those of the driver, each like a machine of its own."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

STORE = 80_000_000
# What nodes share otherwise: temporary files, with those of Ray and of the test, and shared memory.
_HIDDEN = ("/tmp", "/var/tmp", "/dev/shm")
_START = (
    "import os, subprocess, sys\n"
    f"for place in {_HIDDEN!r}:\n"
    "    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=2g,mode=1777', 'tmpfs', place], check=True)\n"
    "os.makedirs(os.environ['HOME'])\n"
    "os.makedirs(os.environ['TMPDIR'])\n"
    "os.chdir(os.environ['HOME'])\n"
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
)


class Machine:
    """A Ray node with file systems of its own over the temporary directories, and processes that end with it.

    Args:
        address: Of the cluster.
        environment: Variables for its workers.
        log: A file for its messages.

    The test is skipped where the user may not do that.
    """

    def __init__(self, address: str, environment: Mapping[str, str], log: Path) -> None:
        if os.geteuid() != 0 or shutil.which("unshare") is None:
            pytest.skip("nodes with file systems of their own need root and unshare")
        own = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
        if subprocess.run([*own, "true"], capture_output=True, check=False).returncode:
            pytest.skip("this machine allows no mounts of its own")
        ray = ["-m", "ray.scripts.scripts", "start", "--block", f"--address={address}", "--num-cpus=1"]
        ports = ["--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0"]
        command = [*own, sys.executable, "-c", _START, *ray, *ports, f"--object-store-memory={STORE}"]
        # The same names on each machine, as in a cluster of equal images.
        names = {"HOME": "/tmp/home", "TMPDIR": "/tmp/local", "RAY_USAGE_STATS_ENABLED": "0"}
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                command, env={**environment, **names}, stdout=file, stderr=subprocess.STDOUT, cwd="/"
            )
        self._log = log

    def root(self) -> Path:
        """The root directory as the processes of this machine see it."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        assert children, self._log.read_text()
        return Path(f"/proc/{children[0]}/root")

    def sees(self, path: Path | str) -> Path:
        """A path of this machine, for the test."""
        return self.root() / str(path).lstrip("/")

    def kill(self) -> None:
        """End all of its processes at once, as a loss of power does."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait(30)


def wait_for(what, seconds: float, problem: str) -> None:
    """Wait until `what()` is true."""
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, problem
        time.sleep(0.1)
