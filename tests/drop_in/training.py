"""A training-style loop over StreamingDataset, to be killed: `training.py REMOTE LOCAL STATE OUT patched|plain`.

It appends the samples of every batch to OUT after writing its state, and continues where STATE says. Without a STATE it
waits after some batches for its end, its workers reading ahead.
"""

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from streaming import StreamingDataLoader, StreamingDataset
from streaming.base.util import clean_stale_shared_memory

import jinx.mds

BATCHES = 18


def digest(sample: dict[str, Any]) -> str:
    text = repr([(name, value if isinstance(value, bytes | str) else str(value)) for name, value in sample.items()])
    return f"{sample['id']}:{hashlib.sha1(text.encode()).hexdigest()}"


def digests(samples: list[dict[str, Any]]) -> dict[str, list[str]]:
    return {"digests": [digest(sample) for sample in samples]}


def main(remote: str, local: str, state: Path, out: Path, *, patched: bool) -> None:
    clean_stale_shared_memory()
    if patched:
        jinx.mds.patch_streaming()
    dataset = StreamingDataset(remote=remote, local=local, shuffle=True, shuffle_seed=4, batch_size=4)
    loader = StreamingDataLoader(dataset, batch_size=4, num_workers=2, collate_fn=digests)
    resumed = state.exists()
    if resumed:
        loader.load_state_dict(json.loads(state.read_text()))
    with out.open("a") as log:
        for number, batch in enumerate(loader, start=1):
            work = state.with_suffix(".tmp")
            work.write_text(json.dumps(loader.state_dict()))
            log.write(" ".join(batch["digests"]) + "\n")
            log.flush()
            work.replace(state)
            if number == BATCHES and not resumed:
                sys.stdout.write("ready\n")
                sys.stdout.flush()
                time.sleep(300)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), patched=sys.argv[5] == "patched")
