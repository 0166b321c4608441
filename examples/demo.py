"""The five-minute tour: make a data set, convert it with `jinx`, look at it, train from it.

Run it with `make demo`. Every figure it prints was measured in that very run.
"""

import argparse
import importlib.util
import io
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

import jinx
from draw import available_cores, write_parquet

PICKED = 42
BATCH_SIZE = 32
RANDOM_READS = 2000


def main() -> None:
    """Run the tour."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=3000, help="how many images to draw (at least 100)")
    parser.add_argument("--directory", type=Path, default=Path("demo-data"), help="directory of the files")
    options = parser.parse_args()
    samples = max(options.samples, 100)
    options.directory.mkdir(parents=True, exist_ok=True)
    parquet, out = options.directory / "in.parquet", options.directory / "out.jinx"

    make_data(parquet, samples)
    convert(parquet, out)
    ds = look(out)
    read(ds)
    train(ds)
    describe(out)
    print(f"\nThe files are in {options.directory}/. One line is one sample:  head -1 {out}")


def make_data(parquet: Path, samples: int) -> None:
    """Draw the images and write the Parquet file."""
    title(1, f"Generate {samples} images with a conversation about each, write Parquet as Hugging Face does")
    with stopwatch("generated and written"):
        write_parquet(parquet, samples=samples, processes=available_cores())
    print(f"{parquet}: {megabytes(parquet):.1f} MB")


def convert(parquet: Path, out: Path) -> None:
    """Convert with the command line, exactly as a user would."""
    title(2, "Convert")
    for old in (out, out.with_suffix(".binx")):  # from an earlier run; `jinx convert` does not replace files unasked
        old.unlink(missing_ok=True)
    with stopwatch("converted", megabytes(parquet), "MB"):
        jinx_command("convert", parquet, out, "--sidecar")
    for path in (out, out.with_suffix(".binx")):
        print(f"{path}: {megabytes(path):.1f} MB")


def look(out: Path) -> jinx.Dataset:
    """Open the file and look at one sample; nothing is decoded before it is touched."""
    title(3, "Open it and look at one sample")
    with stopwatch("opened"):
        ds = jinx.open(out)
    print(f">>> ds = jinx.open({str(out)!r}); len(ds)\n{len(ds)}")
    print(f">>> ds[{PICKED}]        # repr shows what is there and decodes nothing\n{ds[PICKED]!r}")
    image = Image.open(io.BytesIO(ds[PICKED]["image"]))
    print(f">>> Image.open(io.BytesIO(ds[{PICKED}]['image'])).size\n{image.size}")
    question = ds[PICKED]["messages"][0]["content"][-1]["text"]
    print(f">>> ds[{PICKED}]['messages'][0]['content'][-1]['text']\n{question!r}")
    return ds


def read(ds: jinx.Dataset) -> None:
    """Read in order and at random."""
    title(4, "Read")
    with stopwatch("all samples in order, one field touched", len(ds), "samples"):
        widest = max(sample["width"] for sample in ds)
    print(f"widest image: {widest} pixels")
    order = ds.shuffle(seed=7)
    count = min(RANDOM_READS, len(ds))
    with stopwatch("samples at random, image bytes and messages", count, "samples"):
        total = sum(len(sample["image"]) + len(sample["messages"]) for sample in order[:count])
    print(f"image bytes read: {total / 1e6:.1f} MB")


def train(ds: jinx.Dataset) -> None:
    """Feed a torch DataLoader, where torch is installed."""
    title(5, "Feed a DataLoader")
    if importlib.util.find_spec("torch") is None:
        print("torch is not installed, so this step is left out. To see it: make setup demo")
        return
    from torch.utils.data import DataLoader

    import jinx.torch

    workers = min(available_cores(), 4)
    loader = DataLoader(ds, batch_size=BATCH_SIZE, shuffle=True, num_workers=workers, collate_fn=jinx.torch.collate)
    print(
        f">>> DataLoader(ds, batch_size={BATCH_SIZE}, shuffle=True, num_workers={workers}, "
        "collate_fn=jinx.torch.collate)"
    )
    with stopwatch("one epoch, with starting the workers", len(ds), "samples"):
        batches = list(loader)
    print(f"{len(batches)} batches; in the first:")
    for field, value in batches[0].items():
        print(f"  {field:10} {kind(value)}")


def describe(out: Path) -> None:
    """Show what `jinx info` says."""
    title(6, "What is in the file")
    jinx_command("info", out)


def kind(value: object) -> str:
    """A collated field in a few words."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"tensor of {getattr(value, 'dtype', '')}, shape {tuple(shape)}"
    if isinstance(value, list):
        return f"list of {len(value)} x {type(value[0]).__name__}"
    return type(value).__name__


def jinx_command(*arguments: str | Path) -> None:
    """Print and run `jinx ARGUMENTS`."""
    words = [str(argument) for argument in arguments]
    print(f"$ jinx {shlex.join(words)}", flush=True)
    subprocess.run([Path(sys.executable).with_name("jinx"), *words], check=True)


@contextmanager
def stopwatch(what: str, amount: float = 0, unit: str = "") -> Iterator[None]:
    """Print how long the block took, and the rate where an amount is given."""
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    rate = f" ({amount / seconds:,.0f} {unit}/s)" if amount else ""
    spent = f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1000:.1f} ms"  # noqa: PLR2004 - the unit that reads well
    print(f"[{what}: {spent}{rate}]", flush=True)


def title(number: int, text: str) -> None:
    """Print a step's heading."""
    print(f"\n--- {number}. {text}", flush=True)


def megabytes(path: Path) -> float:
    """The file's size in MB (10^6 bytes)."""
    return path.stat().st_size / 1e6


if __name__ == "__main__":
    main()
