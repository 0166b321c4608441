"""The pipeline with everything in a bucket, next to a disk: `make bench-buckets` writes the page and its data.

python -m bench.pipeline.bucket --save docs/benchmarks
python -m bench.pipeline.bucket --documents 20000 --rounds 1
"""

import argparse
import os
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import environments
from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.pipeline.bucket.estimate import BLOCKS
from bench.pipeline.bucket.log import measured_log
from bench.pipeline.bucket.page import page
from bench.pipeline.bucket.runs import RECIPES, Place, blocks_of, bucket_place, kinds_of, resumed, run, write_input

_LARGE, _SMALL = "in", "in-small"
_SHARE = 4


def main() -> None:
    """Measure; print, or save the page."""
    parser = argparse.ArgumentParser(prog="bench.pipeline.bucket", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=240_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--log-blocks", type=int, default=100_000, help="blocks of the run whose log is read")
    parser.add_argument("--driver-blocks", type=int, default=BLOCKS, help="blocks of the run whose driver is measured")
    parser.add_argument("--save", type=save_directory, help="folder that buckets.json and buckets.md are written to")
    options = parser.parse_args()
    started, load = time.monotonic(), os.getloadavg()[0]
    environments.cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="buckets-", dir=environments.cache()) as name:
        results = _measured(Path(name), options.documents, options.rounds)
        results["log"] = measured_log(Path(name) / "log", options.log_blocks)
        results["driver"] = measured_log(Path(name) / "driver", options.driver_blocks)
    results["about"] = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.pipeline.bucket --documents {options.documents} --rounds {options.rounds} "
        f"--log-blocks {options.log_blocks} --driver-blocks {options.driver_blocks}",
        "machine": machine(),
        "load": load,
        "versions": environments.versions(Path(sys.executable), ("jinx-pipeline", "jinx-data", "numpy")),
        "seconds": round(time.monotonic() - started),
    }
    publish("buckets", results, page(results), options.save)


def _measured(folder: Path, documents: int, rounds: int) -> dict[str, Any]:
    disk = Place(folder / "disk")
    disk.folder.mkdir()
    results: dict[str, Any] = {"rounds": rounds, "seconds": {}, "requests": {}}
    with bucket_place(folder / "store") as place:
        bucket = place.bucket
        if bucket is None:
            raise RuntimeError("the place has no bucket")
        write_input(place.file(_LARGE), documents)
        write_input(place.file(_SMALL), documents // _SHARE)
        for source in (_LARGE, _SMALL):
            disk.file(source).symlink_to(place.file(source))
        for name, process in RECIPES.items():
            print(name, file=sys.stderr)
            times: dict[str, dict[str, list[float]]] = {}
            sizes: dict[str, dict[str, Any]] = {}
            for size, source in (("small", _SMALL), ("large", _LARGE)):
                times[size] = {"disk": [], "bucket": []}
                for _ in range(rounds):
                    times[size]["disk"].append(run(disk, source, process))
                    times[size]["bucket"].append(run(place, source, process))
                sizes[size] = {"blocks": blocks_of(place), "requests": kinds_of(bucket)}
            results["seconds"][name] = times
            results["requests"][name] = sizes
        results["resume"] = resumed(place, _LARGE, RECIPES["mapper and filters"])
    return results


if __name__ == "__main__":
    main()
