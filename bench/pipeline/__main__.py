"""The pipeline measured: `make bench-pipeline` writes docs/benchmarks/pipeline.json and pipeline.md."""

import argparse
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import environments
from bench.about import publish, save_directory
from bench.campaign import commit, machine
from bench.pipeline.faults import probe
from bench.pipeline.images import decoding, view
from bench.pipeline.page import page
from bench.pipeline.small import ROWS, small
from bench.pipeline.survivors import nearest
from bench.pipeline.text import JACCARD, PERMUTATIONS, ours, source, theirs


def text(folder: Path, documents: int, documents_of_both: int, rounds: int) -> dict[str, Any]:
    """Both programs in turn on a few documents, and ours on many."""
    records: list[dict[str, Any]] = []
    kept: dict[str, set[int]] = {}
    failed = None

    def run(who: str, count: int) -> None:
        found = (ours if who == "ours" else theirs)(source(folder, count), folder)
        kept[who] = set(found.pop("kept"))
        records.append({"who": who, "documents": count, **found, "kept": len(kept[who])})
        print(f"{who:8} {count:9,} {found['cpu']:8.1f} CPU s {found['memory'] / 1e6:8,.0f} MB", flush=True)

    ours(source(folder, ROWS), folder)  # the first run compiles modules, and reads them from the disk
    for _ in range(rounds):
        run("ours", documents_of_both)
        mine = kept["ours"]
        if failed is None:
            try:
                run("theirs", documents_of_both)
            except (OSError, RuntimeError, environments.InstallError) as error:
                failed = " ".join(str(error).split())[:300]
                print(failed, file=sys.stderr)
    for _ in range(rounds):
        run("ours", documents)
    found: dict[str, Any] = {"text": records, "theirs_failed": failed}
    if failed is None:
        other = kept["theirs"]
        found["agreement"] = {
            "both": len(mine & other),
            "only_ours": len(mine - other),
            "only_theirs": len(other - mine),
            "differing": nearest(source(folder, documents_of_both), mine ^ other, JACCARD, PERMUTATIONS),
        }
    return found


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=200_000, help="of our runs")
    parser.add_argument("--both", type=int, default=20_000, help="documents of the runs next to Data-Juicer")
    parser.add_argument("--images", type=int, default=2_000_000, help="image samples of the view")
    parser.add_argument("--decodes", type=int, default=400, help="images that are decoded")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--save", type=save_directory, help="folder that pipeline.json and pipeline.md are written to")
    options = parser.parse_args()
    started = time.monotonic()
    folder = environments.cache() / "pipeline"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        versions = environments.versions(environments.python_of("datajuicer"), ("py-data-juicer",))
    except (OSError, environments.InstallError) as error:
        print(f"Data-Juicer is left out: {error}", file=sys.stderr)
        versions = {}
    versions |= environments.versions(Path(sys.executable), ("jinx-pipeline", "jinx-data", "pyarrow", "pillow"))
    results = {
        **text(folder, options.documents, options.both, options.rounds),
        "small": small(folder),
        "view": view(folder, options.images // 10, options.images),
        "decoding": decoding(options.decodes),
        "faults": probe(folder),
    }
    results["about"] = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.pipeline --documents {options.documents} --both {options.both} "
        f"--images {options.images} --decodes {options.decodes} --rounds {options.rounds}",
        "machine": machine(),
        "load": os.getloadavg()[0],
        "versions": versions,
        "seconds": round(time.monotonic() - started),
    }
    publish("pipeline", results, page(results), options.save)


if __name__ == "__main__":
    main()
