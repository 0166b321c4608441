"""Times of ours, of a loop by hand and of theirs on the same models and samples."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import jinx
import jinx_pipeline as jp
from bench.environments import ROOT, python_of
from bench.models import kills, llm_client, ten
from bench.models.loops import LOOPS, Loop, Samples
from bench.models.made import WORDS, Made, samples, save_models

TURNS = 3
"""The number of alternating runs, of which the median counts."""


def cases(made: Made) -> dict[str, tuple[str, dict[str, Any]]]:
    """The operator for each model, with its parameters; it keeps everything."""
    everything = {"min_score": -1.0}
    return {
        "clip": ("image_text_similarity_filter", {"hf_clip": str(made.clip), **everything}),
        "vit": ("image_nsfw_filter", {"hf_nsfw_model": str(made.vit), "max_score": 1.0}),
        "lm": ("llm_perplexity_filter", {"hf_model": str(made.lm), "min_score": 0.0, "max_score": float("inf")}),
    }


FEW = 8
"""The number of samples with which ours and a loop are warmed up."""
SHARES = {"vit": 2, "lm": 2}
"""Of these models, which take longer for a sample, only a part of the samples is taken: this is its divisor."""
OF_THEIRS = 16
"""The number of samples for Data-Juicer's operators, which run a model on one sample at a time; the first warms up."""

PARTS = ("clip", "vit", "lm", "five", "llm", "kills", "theirs", "ten")
"""What is measured; each part can be run alone."""


def run(folder: Path, count: int, parts: Sequence[str], *, is_tiny: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names and figures of some parts, each as soon as it is measured.

    Args:
        folder: An empty directory.
        count: The number of samples.
        parts: Which of `PARTS`.
        is_tiny: Whether to take tiny models.
    """
    if not set(parts) <= {"llm", "kills", "ten"}:
        yield from _of_models(folder, count, parts, is_tiny=is_tiny)
    if "llm" in parts:
        part = 50 if is_tiny else 1
        loads = [
            (llm_client.Load(count // part, 200, latency), turns)
            for count, latency, turns in ((20_000, 0.05, TURNS), (10_000, 0.5, 1))
        ]
        yield "llm", {"loads": [llm_client.rounds(load, turns) for load, turns in loads]}
    if "kills" in parts:
        yield "kills", dict(kills.kills(folder / "kills", 200 if is_tiny else 2000))
    if "ten" in parts:
        yield "ten", {"operators": ten.compared(folder / "ten")}


def _of_models(
    folder: Path, count: int, parts: Sequence[str], *, is_tiny: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parts with large models; see `run`."""
    needed = None if "theirs" in parts else {"clip" if name == "five" else name for name in parts}
    made = save_models(folder / "models", is_tiny=is_tiny, only=needed)
    sets = _sets(folder, samples(folder / "images", count))
    for name, (operator, parameters) in cases(made).items():
        if name in parts:
            taken = max(count // SHARES.get(name, 1), 1)
            yield name, _compared(_ours(operator, parameters, name), LOOPS[name](made, "cpu"), sets, taken)
    if "five" in parts:
        yield "five", _five(made, [path for path, _ in sets])
    if "theirs" in parts:
        path, rows = sets[0]
        few = rows[:OF_THEIRS]
        found = _theirs(folder, made, few)
        for name, (operator, parameters) in cases(made).items():
            scores = _ours(operator, parameters, name)(path, len(few))
            found[name]["difference"] = largest_difference(scores, found[name].pop("scores"))
        yield "theirs", {**found, "count": len(few)}


def _sets(folder: Path, rows: Samples) -> list[tuple[Path, Samples]]:
    """Datasets and their samples, with other captions for each run: vectors of texts are kept in a process."""
    sets: list[tuple[Path, Samples]] = []
    for number in range(2 * TURNS + 1):
        path, named = folder / f"{number}.jinx", [{**row, "text": f"{row['text']} w{number}"} for row in rows]
        with jinx.Writer(path) as writer:
            writer.write_many(named)
        sets.append((path, named))
    return sets


def largest_difference(ours: list[float], others: list[float]) -> float:
    """The largest difference of scores, of large ones relative to them."""
    return max(abs(score - other) / max(abs(other), 1.0) for score, other in zip(ours, others, strict=True))


def _ours(operator: str, parameters: dict[str, Any], name: str) -> Callable[[Path, int], list[float]]:
    """A run over samples of a dataset: they are read, images decoded, scores computed, and samples chosen."""
    made = jp.create(operator, **parameters)
    if not isinstance(made, jp.Filter):
        raise TypeError(f"{operator} is not a filter")
    (stat,) = made.stats
    roles = jp.Roles(text="document" if name == "lm" else "text", media_outside=True)

    def call(path: Path, count: int) -> list[float]:
        kept = made(jinx.open(path)[:count], keep_stats=True, roles=roles)
        scores = [sample["__dj__stats__"][stat] for sample in kept]
        return [score[0] if isinstance(score, list) else score for score in scores]

    return call


def _compared(
    ours: Callable[[Path, int], list[float]], loop: Loop, sets: list[tuple[Path, Samples]], count: int
) -> dict[str, Any]:
    """Medians of alternating runs after one of each with a few samples, and the largest difference of scores."""
    *measured, (path, rows) = sets[: TURNS + 1]
    ours(path, FEW)
    loop(rows[:FEW])
    turns = [(_timed(partial(ours, path, count)), _timed(partial(loop, rows[:count]))) for path, rows in measured]
    figures: dict[str, Any] = {"count": count}
    figures["difference"] = max(largest_difference(mine.result, theirs.result) for mine, theirs in turns)
    for number, name in enumerate(("ours", "loop")):
        figures[f"{name}_seconds"] = median(turn[number].seconds for turn in turns)
        figures[f"{name}_cpu_seconds"] = median(turn[number].cpu_seconds for turn in turns)
    return figures


class _Timed(NamedTuple):
    result: Any
    seconds: float
    cpu_seconds: float


def _timed(call: Callable[[], Any]) -> _Timed:
    started, cpu_started = time.perf_counter(), time.process_time()
    result = call()
    return _Timed(result, time.perf_counter() - started, time.process_time() - cpu_started)


def _five(made: Made, paths: list[Path]) -> dict[str, float]:
    """Five operators with one CLIP model, and one of them alone."""
    roles = jp.Roles(media_outside=True)
    clip = {"hf_clip": str(made.clip)}
    of_text = [
        jp.create("image_text_similarity_filter", min_score=-1.0, reduce_mode=mode, **clip)
        for mode in ("avg", "max", "min")
    ]
    tags = jp.create("image_tagging_mapper", tags=WORDS[:20], **clip)
    operators = [*of_text, jp.create("image_embedding_mapper", **clip), tags]
    *measured, path = paths
    _through(operators, path, roles, FEW)
    turns = [
        {count: _timed(partial(_through, operators[:count], of, roles)) for count, of in ((1, first), (5, second))}
        for first, second in zip(measured[::2], measured[1::2], strict=True)
    ]
    return {f"{count}_cpu_seconds": median(turn[count].cpu_seconds for turn in turns) for count in (1, 5)}


def _through(operators: list[Any], path: Path, roles: jp.Roles, count: int | None = None) -> Any:
    return jp.FusedOp(operators=operators)(jinx.open(path)[:count], roles=roles)


def _theirs(folder: Path, made: Made, rows: Samples) -> dict[str, Any]:
    documents = [{"text": row["document"]} for row in rows]
    job = {
        "cases": {
            name: {
                "operator": operator,
                "parameters": {key: value for key, value in parameters.items() if value != float("inf")},
                "samples": documents if name == "lm" else rows,
            }
            for name, (operator, parameters) in cases(made).items()
        }
    }
    (folder / "job.json").write_text(json.dumps(job))
    command = [python_of("datajuicer-models"), "-m", "bench.models.theirs", folder / "job.json", folder / "theirs.json"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads((folder / "theirs.json").read_text(encoding="utf-8"))
