"""A virtual environment for each set of peers that fits together, outside the clone, from pinned requirements."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

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
    python = directory / "bin" / "python"
    if not (directory / ".complete").exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.parent.mkdir(parents=True, exist_ok=True)
        print(f"setting up {name} in {directory}", file=sys.stderr, flush=True)
        _install(directory, python, pins, _without_dependencies(wanted))
        (directory / ".complete").touch()
    return python


def _install(directory: Path, python: Path, pins: Path, alone: list[str]) -> None:
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    index = os.environ.get("TORCH_INDEX")
    if uv:
        _do([uv, "venv", "--quiet", "--python", sys.executable, str(directory)])
        # pip compiles modules when it installs them; uv is told to.
        install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python)]
        foreign = ["--python-version", "3.12"]
    else:
        _do([sys.executable, "-m", "venv", str(directory)])
        install = [str(python), "-m", "pip", "install", "--quiet"]
        foreign = ["--ignore-requires-python"]
    torch = next((line for line in pins.read_text().splitlines() if line.startswith("torch==")), None)
    if index and torch:
        _do([*install, "--index-url", index, torch])
    _do([*install, "-r", str(pins)])
    for requirement in alone:
        _do([*install, "--no-deps", *foreign, requirement])


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
