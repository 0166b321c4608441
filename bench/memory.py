"""Peak private memory of a conversion and of a pass over all columns, for inputs of several sizes.

    python -m bench.memory                    # 0.5, 2 and 5 GB
    python -m bench.memory --gb 0.1 --directory /data
    python -m bench.memory --json             # one object a line

Private memory is what the process would not share and could not drop: the anonymous pages. Pages of mapped files are
given apart, for the kernel takes them back when it needs room. Linux only.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROW_BYTES = 48_000
_GROUP_ROWS = 1_000
_SAMPLE_SECONDS = 0.005
_STEPS = (
    ("parquet -> jinx", "in.parquet", "out.jinx"),
    ("iterate jinx", "out.jinx", None),
    ("jinx -> parquet", "out.jinx", "back.parquet"),
    ("jinx -> jsonl.zst", "out.jinx", "out.jsonl.zst"),
    ("jsonl.zst -> jinx", "out.jsonl.zst", "again.jinx"),
)
_JPEG_START = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00"

_ITERATE = """
import sys
import jinx
total = rows = 0
for sample in jinx.open(sys.argv[1]):
    total += len(sample["image"]) + len(sample["text"]) + sample["id"]
    rows += 1
print(rows)
"""


@dataclass(frozen=True)
class Peak:
    """What one process used at its highest, in bytes."""

    private: int
    mapped: int
    seconds: float
    output: str


def write_parquet(path: Path, size: int, *, row_bytes: int = ROW_BYTES) -> int:
    """About `size` bytes of rows as Hugging Face writes image columns, a row group at a time; returns the rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    features = {"info": {"features": {"image": {"_type": "Image"}, "text": {"dtype": "string", "_type": "Value"}}}}
    schema = pa.schema(
        [("id", pa.int64()), ("image", image), ("text", pa.string())],
        metadata={"huggingface": json.dumps(features)},
    )
    rows = max(size // row_bytes, 1)
    draw = random.Random(7)
    with pq.ParquetWriter(path, schema, compression="none") as writer:
        for start in range(0, rows, _GROUP_ROWS):
            numbers = range(start, min(start + _GROUP_ROWS, rows))
            columns = [
                pa.array(numbers, pa.int64()),
                pa.array([_picture(draw, row_bytes, number) for number in numbers], image),
                pa.array([f"picture number {number}" for number in numbers]),
            ]
            writer.write_table(pa.table(columns, schema=schema))
    return rows


def _picture(draw: random.Random, size: int, number: int) -> dict[str, object]:
    return {"bytes": _JPEG_START + draw.randbytes(size - len(_JPEG_START)), "path": f"{number}.jpg"}


def measure(command: list[str], directory: Path | None = None) -> Peak:
    """Run a command and look at its memory every few milliseconds.

    Args:
        command: The program and its arguments.
        directory: Where it runs; here if not given.

    Raises:
        RuntimeError: The command failed.
    """
    started = time.monotonic()
    private = mapped = 0
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            now = memory(process.pid)
            private, mapped = max(private, now[0]), max(mapped, now[1])
            time.sleep(_SAMPLE_SECONDS)
        output, errors = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {errors.strip()}")
    return Peak(private, mapped, time.monotonic() - started, output.strip())


def memory(pid: int) -> tuple[int, int]:
    """Anonymous and file-backed resident bytes; zeros when the process has just ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0, 0
    kilobytes = {
        name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines) if "kB" in rest
    }
    private = kilobytes.get("RssAnon", 0) + kilobytes.get("RssShmem", 0) + kilobytes.get("VmSwap", 0)
    return private * 1024, kilobytes.get("RssFile", 0) * 1024


def convert(source: Path, out: Path, *options: str) -> Peak:
    """The peak of `jinx convert`."""
    return measure([sys.executable, "-m", "jinx", "convert", str(source), str(out), "--progress", "none", *options])


def iterate(path: Path) -> Peak:
    """The peak of a process that touches every column of every sample; its output is the number of samples."""
    return measure([sys.executable, "-c", _ITERATE, str(path)])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Peak private memory by size of the input.")
    parser.add_argument("--gb", type=float, nargs="+", default=[0.5, 2, 5], help="sizes in GB")
    parser.add_argument("--directory", help="where the files go; they are removed afterwards")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    if not options.json:
        print(f"{'GB':>5}  {'step':<18} {'private MB':>10} {'mapped MB':>10} {'seconds':>8}")
    for gigabytes in options.gb:
        with tempfile.TemporaryDirectory(dir=options.directory) as work:
            directory = Path(work)
            rows = write_parquet(directory / "in.parquet", int(gigabytes * 1e9))
            for name, source, out in _STEPS:
                peak = iterate(directory / source) if out is None else convert(directory / source, directory / out)
                if options.json:
                    line = json.dumps({"gb": gigabytes, "rows": rows, "step": name, **asdict(peak)})
                else:
                    line = (
                        f"{gigabytes:>5g}  {name:<18} {peak.private / 1e6:>10.1f} {peak.mapped / 1e6:>10.1f}"
                        f" {peak.seconds:>8.1f}"
                    )
                print(line, flush=True)


if __name__ == "__main__":
    main()
