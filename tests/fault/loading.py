"""A DataLoader over a dataset, in a process of its own: `python -m fault.loading PATH METHOD WORKERS...`.

Prints a line for each number of workers: how many samples came and how many of them were wrong.
"""

import multiprocessing
import sys
from pathlib import Path
from typing import Any

import jinx
from fault.rows import rows

SAMPLES = 200


def keep(batch: list[Any]) -> list[dict[str, Any]]:
    return [dict(sample) for sample in batch]


def main(path: Path, method: str, counts: list[int]) -> None:
    from torch.utils.data import DataLoader

    if method == "forkserver":
        # Else every worker imports torch again.
        multiprocessing.set_forkserver_preload(["torch", "jinx", "fault.loading"])
    expected = rows(1, SAMPLES)
    dataset = jinx.open(path)
    # What was touched before a fork must serve the children too.
    assert dict(dataset[3]) == expected[3]
    for workers in counts:
        loader: Any = DataLoader(
            dataset,
            batch_size=8,
            num_workers=workers,
            multiprocessing_context=method if workers else None,
            collate_fn=keep,
            timeout=100 if workers else 0,
        )
        found = [sample for batch in loader for sample in batch]
        wrong = sum(one != other for one, other in zip(found, expected, strict=True))
        print(workers, len(found), wrong, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], [int(word) for word in sys.argv[3:]])
