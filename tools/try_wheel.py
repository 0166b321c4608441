"""Install each wheel into a fresh environment and run the headline command there.

Usage: try_wheel.py DIST
One is for this version of Python, and faster; the other is for any. Shows that the base install (numpy and click alone)
converts Parquet and reads the result.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from draw import write_parquet

MAX_WHEEL_BYTES = 9_000_000
OLD_ENOUGH = ("manylinux_2_28_", "manylinux_2_17_", "manylinux2014_")
BASE_PACKAGES = {"click", "jinx-data", "numpy"}

READ_BACK = """
import jinx, sys
ds = jinx.open(sys.argv[1])
assert len(ds) == 20, len(ds)
assert ds[7]["image"][:3] == bytes([0xFF, 0xD8, 0xFF]), "not a JPEG"
"""


def main() -> int:
    """Try the wheels in the directory named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path)
    wheels = sorted(parser.parse_args().dist.rglob("*.whl"))
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    if sorted(wheel.name.split("-")[3] for wheel in wheels) != ["abi3", version]:
        return _fail(f"expected an abi3 wheel and one for {version}, found {[wheel.name for wheel in wheels]}")
    return max(_try(wheel) for wheel in wheels)


def _try(wheel: Path) -> int:
    size_bytes = wheel.stat().st_size
    if sys.platform == "linux" and not any(tag in wheel.name for tag in OLD_ENOUGH):
        return _fail(f"{wheel.name}: not for glibc 2.28, so not for the systems that clusters have")
    if size_bytes > MAX_WHEEL_BYTES:
        return _fail(f"{wheel.name}: {size_bytes} bytes, more than {MAX_WHEEL_BYTES}")
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        bin_dir = _environment(work / "env", wheel)
        write_parquet(work / "in.parquet", samples=20, seed=0)
        _run([bin_dir / "jinx", "convert", work / "in.parquet", work / "out.jinx", "--sidecar"])
        _run([bin_dir / "python", "-c", READ_BACK, work / "out.jinx"])
    print(f"{wheel}: {size_bytes / 1e6:.1f} MB, installs and converts with numpy and click alone")
    return 0


def _environment(env: Path, wheel: Path) -> Path:
    venv.create(env, with_pip=True)
    bin_dir = env / ("Scripts" if sys.platform == "win32" else "bin")
    python = bin_dir / "python"
    _run([python, "-m", "pip", "install", "--quiet", wheel.resolve()])
    listed = subprocess.run([python, "-m", "pip", "list", "--format=json"], check=True, capture_output=True)
    names = {entry["name"] for entry in json.loads(listed.stdout)}
    extra = names - BASE_PACKAGES - {"pip", "setuptools"}
    if extra:
        raise SystemExit(_fail(f"the base install pulled in {', '.join(sorted(extra))}"))
    return bin_dir


def _run(command: list[Path | str]) -> None:
    subprocess.run([str(part) for part in command], check=True)


def _fail(message: str) -> int:
    print(f"try_wheel: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
