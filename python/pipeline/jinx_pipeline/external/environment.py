"""Python environments of adapters: a directory that the user names, or one that uv makes from requirements."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from jinx_pipeline.external.errors import ExternalError

ALLOWED: Final = "JINX_ALLOW_INSTALL"
"""The environment variable that allows to install packages; its value is `uv`."""

_SHOWN: Final = 300


def python_of(env: str) -> Path:
    """The interpreter of an environment.

    Args:
        env: The directory of a virtual environment, or an interpreter.

    Raises:
        ExternalError: There is none.
    """
    place = Path(env)
    python = place / "bin" / "python" if place.is_dir() else place
    if not python.is_file():
        raise ExternalError(f"{env} is neither a virtual environment nor a Python interpreter")
    return python


def refuse_to_install(requirements: Sequence[str]) -> None:
    """Refuse packages that are missing and must not, or cannot, be installed.

    Raises:
        ExternalError: Installing is not allowed, or uv is missing.
    """
    if (_directory(requirements) / ".complete").exists():
        return
    if os.environ.get(ALLOWED) != "uv":
        raise ExternalError(f"the operator has requirements; set {ALLOWED}=uv to let uv install them, or give env")
    if shutil.which("uv") is None:
        raise ExternalError("the operator has requirements, and uv is not installed; install it, or give env")


def installed(requirements: Sequence[str]) -> Path:
    """The interpreter of an environment with packages, which uv makes once on each node.

    Args:
        requirements: The packages, as pip takes them.

    Raises:
        ExternalError: Installing is not allowed, uv is missing, or a package cannot be installed.
    """
    directory = _directory(requirements)
    python, done = directory / "bin" / "python", directory / ".complete"
    if done.exists():
        return python
    refuse_to_install(requirements)
    uv = str(shutil.which("uv"))
    directory.parent.mkdir(parents=True, exist_ok=True)
    with (directory.parent / f"{directory.name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other workers on this node wait here
        if not done.exists():
            shutil.rmtree(directory, ignore_errors=True)
            _run([uv, "venv", "--quiet", "--python", sys.executable, str(directory)])
            _run([uv, "pip", "install", "--quiet", "--python", str(python), "pyarrow", *requirements])
            done.touch()
    return python


def _directory(requirements: Sequence[str]) -> Path:
    """The directory of the environment with these packages."""
    base = os.environ.get("XDG_CACHE_HOME")
    cache = Path(base) if base else Path.home() / ".cache"
    digest = sha256("\0".join([sys.version, *sorted(requirements)]).encode()).hexdigest()
    return cache / "jinx" / "environments" / digest[:24]


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - allowed by the user
    except OSError as error:
        raise ExternalError(f"{command[0]} cannot be run: {error}") from error
    if done.returncode:
        problem = " ".join(done.stderr.split())[-_SHOWN:]
        raise ExternalError(f"{' '.join(command[1:3])} failed: {problem}")
