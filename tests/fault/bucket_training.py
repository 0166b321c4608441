"""One rank of a training that reads a bucket: `python -m fault.bucket_training URL RANK RANKS DIRECTORY KILLED_AT`.

It appends the samples of each step to `DIRECTORY/RANK.jsonl`, saves its state after each step, and kills itself after
KILLED_AT steps (0: never). It begins where `DIRECTORY/state.json` says, if there is one.
"""

import json
import os
import signal
import sys
import zlib
from pathlib import Path

import jinx
from jinx.torch import ElasticLoader

BATCH, EPOCHS, SEED = 24, 2, 3


def main() -> None:
    """Train."""
    url, rank, ranks, directory, killed_at = sys.argv[1], *map(int, sys.argv[2:4]), Path(sys.argv[4]), int(sys.argv[5])
    loader = ElasticLoader(
        jinx.open(url, cache=directory / "cache"),
        BATCH // ranks,
        shuffle="blocks",
        seed=SEED,
        rank=rank,
        world_size=ranks,
        num_workers=2,
        workers="processes",
        multiprocessing_context="spawn",
    )
    saved = directory / "state.json"
    if saved.exists():
        loader.load_state_dict(json.loads(saved.read_text()))
    steps = 0
    with (directory / f"{rank}.jsonl").open("a") as log:
        while loader.epoch < EPOCHS:
            epoch = loader.epoch
            for batch in loader:
                steps += 1
                images = [zlib.crc32(image) for image in batch["image"]]
                line = {"epoch": epoch, "step": steps, "n": [int(n) for n in batch["n"]], "images": images}
                log.write(json.dumps(line) + "\n")
                log.flush()
                # Each rank would save the same.
                partial = directory / f"state.{rank}.tmp"
                partial.write_text(json.dumps(loader.state_dict()))
                partial.rename(directory / f"state.{rank}.json")
                if steps == killed_at:
                    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
