"""One rewriting of one dataset by one system, in a process of its own.

    python -m bench.order.contestants CONTESTANT OPERATION PLACE OUT MEMORY [GROUP]

It prints what it took as JSON. Every output is synced within the time. GROUP is a control group to run in.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.order import floor, limit

# Its commands need mosaicml-streaming, which has an environment of its own.
MLDATAFORGE = Path(__file__).resolve().parents[2] / ".venv-streaming" / "bin" / "python"
SEED = 7
Run = Callable[[str, Path, Path, int], object]


def cp(_: str, place: Path, out: Path, __: int) -> None:
    """The baseline: both files copied in their order."""
    for suffix in (".jinx", ".binx"):
        source = (place / "in.jinx").with_suffix(suffix)
        if source.exists():
            subprocess.run(["cp", "--reflink=never", source, out / f"out{suffix}"], check=True)  # noqa: S607


def cp_twice(_: str, place: Path, out: Path, __: int) -> None:
    """What every way must move that cannot hold the data: all bytes to a temporary place, and from there."""
    temporary = out / "temporary"
    temporary.mkdir()
    cp(_, place, temporary, __)
    for path in temporary.iterdir():
        subprocess.run(["cp", "--reflink=never", path, out / path.name], check=True)  # noqa: S607
    shutil.rmtree(temporary)


def jinx(operation: str, place: Path, out: Path, memory: int) -> dict[str, object]:
    """Ours."""
    import jinx as package

    if operation == "shuffle":
        done = package.shuffle(place / "in.jinx", out / "out.jinx", seed=SEED, memory=memory)
    else:
        done = package.sort(place / "in.jinx", out / "out.jinx", by="score", memory=memory)
    return {"plan": done.plan, "temporary": done.temporary_bytes}


def hugging_face(operation: str, place: Path, out: Path, _: int) -> None:
    """`shuffle` or `sort`, then `save_to_disk`."""
    from datasets import disable_caching, load_from_disk

    disable_caching()
    dataset = load_from_disk(str(place / "hf"))
    ordered = dataset.shuffle(seed=SEED) if operation == "shuffle" else dataset.sort("score")
    ordered.save_to_disk(str(out / "out"))


def duckdb(operation: str, place: Path, out: Path, memory: int) -> None:
    """`ORDER BY` and `COPY TO` over Parquet, in the same memory as ours."""
    import duckdb as package

    base = package.connect()
    base.execute(f"SET memory_limit='{memory}B'; SET temp_directory='{out}/temporary'")
    key = "hash(id)" if operation == "shuffle" else "score"
    query = f"SELECT * FROM '{place}/in.parquet' ORDER BY {key}"  # noqa: S608 - our own paths
    base.execute(f"COPY ({query}) TO '{out}/out.parquet' (FORMAT parquet)")


def mldataforge(compression: str) -> Run:
    """`join jinx` with the options that make it fastest."""

    def run(operation: str, place: Path, out: Path, _: int) -> None:
        key = "def key(sample): return sample['score']"
        order = ["--shuffle", str(SEED)] if operation == "shuffle" else ["--sort-key", key]
        paths = [str(out / "out.jinx"), str(place / f"old-{compression}" / "in.jinx")]
        options = ["--mmap", "--lazy", "--encoding", "b64", "--compression", compression, "--yes"]
        command = [MLDATAFORGE, "-W", "ignore", "-m", "mldataforge", "join", "jinx", *paths, *order, *options]
        subprocess.run(command, check=True, capture_output=True)

    return run


CONTESTANTS: dict[str, Run] = {
    "cp": cp,
    "cp twice": cp_twice,
    "floor": floor.run,
    "jinx": jinx,
    "mldataforge none": mldataforge("none"),
    "mldataforge zstd": mldataforge("zstd"),
    "hugging face": hugging_face,
    "duckdb": duckdb,
}


def sync(out: Path) -> None:
    """Make everything below `out` durable."""
    for path in out.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)


def transferred() -> tuple[int, int]:
    """Bytes that this process and its children have read from disk, and passed to the system to write."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["read_bytes"]), int(lines["wchar"])


def main() -> None:
    """Run one contestant."""
    name, operation, place, out, memory, *group = sys.argv[1:]
    if group:
        limit.join(group[0])
    target = Path(out)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    before, moved, started = os.times(), transferred(), time.perf_counter()
    made = CONTESTANTS[name](operation, Path(place), target, int(memory))
    sync(target)
    wall, after = time.perf_counter() - started, os.times()
    now = transferred()
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    used = {"wall": wall, "cpu": sum(after[:4]) - sum(before[:4]), "size": size}
    used |= {"read": now[0] - moved[0], "written": now[1] - moved[1]}
    print(json.dumps({**used, **(made if isinstance(made, dict) else {})}))


if __name__ == "__main__":
    main()
