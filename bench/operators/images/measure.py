"""Our results and times, and the comparison with theirs."""

import json
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.environments import ROOT, python_of
from bench.operators.images import samples as made_samples
from bench.operators.images.cases import CASES, Case, taken

ENVIRONMENT = "datajuicer-media"  # with OpenCV
HEADERS = ["image_shape_filter", "image_aspect_ratio_filter"]
_TURNS = 3


@dataclass
class Outcome:
    """What came out of a case.

    Attributes:
        case: The operator and its parameters.
        samples: How many there were.
        different: How many results differ.
        reasons: Why, and for how many.
        unexplained: The numbers of samples that no reason explains.
    """

    case: str
    samples: int
    different: int = 0
    reasons: dict[str, int] = field(default_factory=dict[str, int])
    unexplained: list[int] = field(default_factory=list[int])


def run(count: int, photographs: int, hashes: int) -> dict[str, Any]:
    """Compare results on `count` samples of each kind, and take times."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "many").mkdir()
        (folder / "photographs").mkdir()
        given = {
            "images": made_samples.image_samples(made_samples.image_files(folder / "many", count)),
            "traces": made_samples.traces(count),
            "papers": made_samples.papers(count),
            "pages": made_samples.pages(count),
            "facts": made_samples.facts(count),
        }
        photos = made_samples.image_samples(made_samples.image_files(folder / "photographs", photographs, plain=True))
        job, answer = folder / "job.json", folder / "answer.json"
        job.write_text(json.dumps({"samples": given, "timed": HEADERS, "photographs": photos}))
        command = [python_of(ENVIRONMENT), "-m", "bench.operators.images.theirs", job, answer]
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[-1000:])
        theirs = json.loads(answer.read_text(encoding="utf-8"))
        outcomes = [
            compared(case, found, given[case.samples]) for case, found in zip(CASES, theirs["results"], strict=True)
        ]
        return {
            "compared": [vars(outcome) for outcome in outcomes],
            "theirs": theirs["seconds"],
            "ours": {name: header_seconds(name, photos) for name in HEADERS},
            "decoding": decoding_seconds(photos),
            "hashes": hashes,
            "hashing": near_seconds(hashes) if hashes else None,
        }


def results(case: Case, samples: list[dict[str, Any]]) -> list[Any]:
    """Our results, in the form of `theirs.results`."""
    from jinx_pipeline.operators.api.registry import create

    operator = create(case.operator, **case.parameters)
    rows: Any
    if case.operator.endswith("_filter"):
        kept = {row["number"] for row in operator(samples)}
        rows = operator(samples, keep_stats=True, drop=False)
        return [taken({**row["__dj__stats__"], "kept": row["number"] in kept}, case.names) for row in rows]
    rows = operator(samples)
    if case.samples != "papers":
        return [taken(row, case.names) for row in rows]
    found: list[list[Any]] = [[] for _ in samples]
    for row in rows:
        found[row["number"]].append(taken(row, case.names))
    return found


def compared(case: Case, theirs: list[Any], samples: list[dict[str, Any]]) -> Outcome:
    """Count the differences of a case, and the reasons."""
    outcome = Outcome(case.title, len(samples))
    reasons: Counter[str] = Counter()
    for number, (sample, their_result, our_result) in enumerate(
        zip(samples, theirs, results(case, samples), strict=True)
    ):
        if their_result == json.loads(json.dumps(our_result)):
            continue
        outcome.different += 1
        found = [
            what
            for what, explains in case.reasons
            if isinstance(their_result, dict) and explains(sample, their_result, our_result)
        ]
        reasons.update(found)
        if not found:
            outcome.unexplained.append(number)
    outcome.reasons = dict(reasons)
    return outcome


def header_seconds(name: str, samples: list[dict[str, Any]]) -> float:
    """CPU seconds of a filter that reads headers."""
    return _least(lambda: _measure([name], samples))


def decoding_seconds(samples: list[dict[str, Any]]) -> dict[str, float]:
    """CPU seconds to decode images for one filter, and for five on the same samples."""
    return {str(count): _least(lambda count=count: _decode(count, samples)) for count in (1, 5)}


def near_seconds(count: int) -> float:
    """CPU seconds to find near-duplicates among hashes, of which a tenth differ from others in up to three bits."""
    import pyarrow as pa

    from jinx_pipeline.operators.api.registry import create

    rng = np.random.default_rng(1)
    hashes = rng.integers(0, 1 << 64, count, dtype=np.uint64)
    copies = rng.choice(count, count // 10, replace=False)
    near = hashes[rng.integers(0, count, len(copies))]
    for bits in rng.integers(0, 64, (3, len(copies))).astype(np.uint64):
        near ^= np.uint64(1) << bits
    hashes[copies] = near
    tables = [pa.table({"hash": hashes[start : start + 10_000]}) for start in range(0, count, 10_000)]
    operator: Any = create("image_near_deduplicator")
    started = time.process_time()
    operator.duplicates(tables)
    return time.process_time() - started


def _least(work: Any) -> float:
    times: list[float] = []
    for _ in range(_TURNS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def _measure(names: list[str], samples: list[dict[str, Any]]) -> None:
    from jinx_pipeline.operators.api.batch import Batch
    from jinx_pipeline.operators.api.context import Context
    from jinx_pipeline.operators.api.registry import create

    operators: list[Any] = [create(name) for name in names]
    for start in range(0, len(samples), operators[0].batch_size):
        batch = Batch(samples[start : start + operators[0].batch_size])
        for operator in operators:
            operator.compute_stats(batch, Context())


def _decode(count: int, samples: list[dict[str, Any]]) -> None:
    from jinx_pipeline.operators.api.batch import Batch

    for start in range(0, len(samples), 16):
        batch = Batch(samples[start : start + 16])
        for _ in range(count):
            for images in batch.media("images"):
                for image in images:
                    image.image().getpixel((0, 0))
