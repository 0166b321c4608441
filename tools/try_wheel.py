"""Install the wheels into fresh environments, and run the headline commands there.

Usage: try_wheel.py DIST
Each distribution has a wheel for this version of Python, which is faster, and one for any. Shows that the base install
(numpy and click alone) converts Parquet and reads the result, and that the pipeline's kernels work on top of it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from draw import write_parquet

MAX_WHEEL_BYTES = {"jinx_data": 9_000_000, "jinx_pipeline": 3_000_000}
OLD_ENOUGH = ("manylinux_2_28_", "manylinux_2_17_", "manylinux2014_")
BASE_PACKAGES = {"click", "jinx-data", "numpy"}

READ_BACK = """
import jinx, sys
ds = jinx.open(sys.argv[1])
assert len(ds) == 20, len(ds)
assert ds[7]["image"][:3] == bytes([0xFF, 0xD8, 0xFF]), "not a JPEG"
"""

RUN_KERNELS = """
from jinx_pipeline import kernels
assert kernels.count_words(["two words", ""]).tolist() == [2, 0]
"""


def main() -> int:
    """Try the wheels in the directory named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path)
    wheels = {tuple(wheel.name.split("-")[::3]): wheel for wheel in parser.parse_args().dist.rglob("*.whl")}
    abis = (f"cp{sys.version_info.major}{sys.version_info.minor}", "abi3")
    wanted = {(name, abi) for name in MAX_WHEEL_BYTES for abi in abis}
    if set(wheels) != wanted:
        return _fail(f"expected wheels for {sorted(wanted)}, found {[wheel.name for wheel in wheels.values()]}")
    if any(_is_unfit(name, wheel) for (name, _), wheel in sorted(wheels.items())):
        return 1
    for abi in abis:
        _try(wheels["jinx_data", abi], wheels["jinx_pipeline", abi])
    return 0


def _is_unfit(name: str, wheel: Path) -> bool:
    size_bytes = wheel.stat().st_size
    print(f"{wheel}: {size_bytes / 1e6:.1f} MB")
    if sys.platform == "linux" and not any(tag in wheel.name for tag in OLD_ENOUGH):
        _fail(f"{wheel.name}: not for glibc 2.28, so not for the systems that clusters have")
        return True
    if size_bytes > MAX_WHEEL_BYTES[name]:
        _fail(f"{wheel.name}: {size_bytes} bytes, more than {MAX_WHEEL_BYTES[name]}")
        return True
    return False


def _try(wheel: Path, pipeline: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        bin_dir = _environment(work / "env", wheel)
        write_parquet(work / "in.parquet", samples=20, seed=0)
        _run([bin_dir / "jinx", "convert", work / "in.parquet", work / "out.jinx", "--sidecar"])
        _run([bin_dir / "python", "-c", READ_BACK, work / "out.jinx"])
        print(f"{wheel.name}: installs and converts with numpy and click alone")
        _run([bin_dir / "python", "-m", "pip", "install", "--quiet", pipeline.resolve()])
        _run([bin_dir / "python", "-c", RUN_KERNELS])
        _run([bin_dir / "jinx-pipeline", "ops", "text_length_filter"])
        print(f"{pipeline.name}: installs on top of it, and its kernels run")


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
