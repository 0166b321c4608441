"""What the packing loader costs on top of reading, decoding and tokenizing, in CPU time of one process.

Runs as a process of its own: `python -m bench.packing.loader SAMPLES ROUNDS`.

Both contestants read the same samples in the same order with the same threads, decode their images and tokenize their
text. One is `PackedDataLoader`; the other stops there: it makes no packs, no tensors and no masks. They alternate.
"""

import json
import random
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import draw
import jinx
import jinx.torch
import train_vlm
from jinx._annotate.encoder import Encoder
from jinx._core import Batches

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_LENGTH, MAX_IMAGES, THREADS, TOKENS = 4096, 24, 1, 64
FIRST_BATCHES = 9


def measure(folder: Path, samples: int, rounds: int) -> dict[str, Any]:
    """The medians of both, and what the loader adds, for three kinds of samples."""
    draw.write_parquet(folder / "in.parquet", samples=samples, processes=draw.available_cores())
    jinx.convert(folder / "in.parquet", folder / "train.jinx")
    train_vlm.make_tokenizer(folder / "model", jinx.open(folder / "train.jinx"))
    cases: dict[str, dict[str, Any]] = {
        "images decoded, text tokenized": {"image_rule": f"fixed:{TOKENS}", "decode": {"image": "numpy"}},
        "image bytes, text tokenized": {"image_rule": f"fixed:{TOKENS}", "decode": None},
        "text tokenized": {"image_rule": None, "decode": None},
    }
    out: dict[str, Any] = {"samples": samples, "threads": THREADS, "cases": {}}
    for number, (name, how) in enumerate(cases.items()):
        view = folder / f"lengths-{number}.jinx"
        jinx.annotate(folder / "train.jinx", view, tokenizer=folder / "model", image_rule=how["image_rule"])
        out["cases"][name] = compare(jinx.open(view), folder / "model", rounds, **how)
    return out


def compare(
    dataset: jinx.Dataset, tokenizer: Path, rounds: int, *, image_rule: str | None, decode: Any
) -> dict[str, float]:
    """Seconds of CPU for an epoch with the loader and without it."""
    plan = jinx.pack(dataset, MAX_LENGTH, max_images=MAX_IMAGES if image_rule else None)
    how = {"tokenizer": tokenizer, "image_rule": image_rule, "decode": decode}
    encoder = Encoder(dataset.column_names, tokenizer, image_rule=image_rule)
    chosen = dataset.select_columns(encoder.columns).decode(decode)
    packs = [pack.tolist() for pack in plan.schedule(balance=None)]

    def without() -> int:
        tokens = 0
        positions = (plan[pack].tolist() for (pack,) in packs)
        for outcomes in Batches(chosen, positions, None, THREADS, 2 * THREADS):
            samples = [sample for _, sample in outcomes]
            tokens += sum(len(encoded.input_ids) for encoded in encoder.encode(samples))
            for sample in samples:
                if encoder.image_column:
                    sample[encoder.image_column]
        return tokens

    def with_loader() -> int:
        loader = jinx.torch.PackedDataLoader(dataset, plan, balance=None, num_workers=THREADS, **how)
        return sum(batch["num_tokens"] for batch in loader)

    contestants: dict[str, Callable[[], int]] = {"without": without, "loader": with_loader}
    if len({run() for run in contestants.values()}) != 1:  # also a warm-up
        raise AssertionError("both must see the same tokens")
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name in random.sample(list(contestants), len(contestants)):
            before = cpu_seconds()
            contestants[name]()
            seconds[name].append(cpu_seconds() - before)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        "cpu_seconds_without": round(medians["without"], 4),
        "cpu_seconds_loader": round(medians["loader"], 4),
        "added": round(medians["loader"] / medians["without"] - 1, 4),
        "batches": len(plan),
        **first_batches(dataset, plan, how),
    }


def first_batches(dataset: jinx.Dataset, plan: jinx.PackPlan, how: dict[str, Any]) -> dict[str, float]:
    """Medians of the CPU time to the first batch of a new loader: of several epochs, and of places in one epoch."""
    plans = [plan.with_epoch(epoch) for epoch in range(FIRST_BATCHES)]
    places = [len(plan) * number // (FIRST_BATCHES + 1) for number in range(1, FIRST_BATCHES + 1)]
    state = jinx.torch.PackedDataLoader(dataset, plan, num_workers=0, **how).state_dict()
    seconds: dict[str, list[float]] = {"fresh_seconds": [], "resume_seconds": []}
    for other, place in zip(plans, places, strict=True):
        seconds["fresh_seconds"].append(first_batch_seconds(dataset, other, None, how))
        resumed = state | plan.schedule().state(place)
        seconds["resume_seconds"].append(first_batch_seconds(dataset, plan, resumed, how))
    return {name: round(statistics.median(values), 4) for name, values in seconds.items()}


def first_batch_seconds(dataset: jinx.Dataset, plan: jinx.PackPlan, state: Any, how: dict[str, Any]) -> float:
    """CPU time of a loader that begins, or continues from a state, until its first batch."""
    before = time.process_time()
    loader = jinx.torch.PackedDataLoader(dataset, plan, num_workers=0, **how)
    if state is not None:
        loader.load_state_dict(state)
    next(iter(loader))
    return time.process_time() - before


def cpu_seconds() -> float:
    """User and system time of this process and its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        print(json.dumps(measure(Path(temporary), int(sys.argv[1]), int(sys.argv[2]))))
