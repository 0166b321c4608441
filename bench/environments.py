"""A virtual environment for each set of peers that fits together, outside the clone, from pinned requirements."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

REQUIREMENTS = Path(__file__).parent / "peers" / "requirements"
ROOT = Path(__file__).parents[1]


class InstallError(Exception):
    """An environment could not be made; the text is the installer's last word."""


def cache() -> Path:
    """Where environments, data and stores are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jinx" / "bench"


def python_of(name: str) -> Path:
    """The interpreter of an environment; "" is the one this runs in. Made at first need.

    Raises:
        InstallError: Something could not be installed.
    """
    if not name:
        return Path(sys.executable)
    pins = REQUIREMENTS / f"{name}.txt"
    wanted = (REQUIREMENTS / f"{name}.in").read_text()
    text = pins.read_text() + wanted
    directory = cache() / "environments" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    complete = directory / ".complete"
    if not complete.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
        with directory.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # of two processes that need it, one makes it
            if not complete.exists():
                print(f"setting up {name} in {directory}", file=sys.stderr, flush=True)
                _make(directory, pins, _without_dependencies(wanted))
                complete.touch()
    return directory / "bin" / "python"


class _Installer(NamedTuple):
    """Its commands, without what they make or install, and options for a package that asks for another Python."""

    make: list[str]
    install: list[str]
    foreign: list[str]


def _installers(python: Path) -> list[_Installer]:
    """uv, where there is one, and pip, which is configured apart from it and may reach an index that uv does not."""
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    installers = [_Installer([sys.executable, "-m", "venv"], pip, ["--ignore-requires-python"])]
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if uv:
        # pip compiles modules when it installs them; uv is told to.
        install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python)]
        make = [uv, "venv", "--quiet", "--python", sys.executable]
        installers.insert(0, _Installer(make, install, ["--python-version", "3.12"]))
    return installers


def _make(directory: Path, pins: Path, alone: list[str]) -> None:
    errors: list[str] = []
    for installer in _installers(directory / "bin" / "python"):
        shutil.rmtree(directory, ignore_errors=True)
        try:
            _install(installer, directory, pins, alone)
        except InstallError as error:
            errors.append(str(error))
        else:
            return
    raise InstallError("; ".join(errors))


def _install(installer: _Installer, directory: Path, pins: Path, alone: list[str]) -> None:
    _do([*installer.make, str(directory)])
    index = os.environ.get("TORCH_INDEX")
    torch = next((line for line in pins.read_text().splitlines() if line.startswith("torch==")), None)
    if index and torch:
        _do([*installer.install, "--index-url", index, torch])
    _do([*installer.install, "-r", str(pins)])
    for requirement in alone:
        _do([*installer.install, "--no-deps", *installer.foreign, requirement])


def _without_dependencies(wanted: str) -> list[str]:
    """The packages after `# alone:`, whose own dependencies are not installed."""
    return [line.removeprefix("# alone:").strip() for line in wanted.splitlines() if line.startswith("# alone:")]


def _do(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise InstallError(" ".join(last[-3:]) or f"{command[0]} ended with {done.returncode}")


def versions(python: Path, distributions: tuple[str, ...]) -> dict[str, str]:
    """The installed versions."""
    script = (
        "import json, sys; from importlib.metadata import version;"
        "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
    )
    done = subprocess.run([python, "-c", script, *distributions], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
