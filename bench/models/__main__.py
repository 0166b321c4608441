"""Operators with models next to a loop by hand and Data-Juicer, and the client for language models.

python -m bench.models --save docs/benchmarks
python -m bench.models --only llm --save docs/benchmarks

With `--only`, the other parts of the page stay as they were saved.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from bench.about import about_run, publish, save_directory
from bench.campaign import commit, machine
from bench.models import measure, ten

_LOOP, _THEIRS, _FIVE = 0.95, 2.0, 1.1
_IDEAL, _CPU_MS, _UNRELIABLE = 0.95, 1.0, 1.2
_TITLES = {"clip": "CLIP ViT-B/32, `image_text_similarity_filter`", "vit": "ViT-B/16, `image_nsfw_filter`"}
_TITLES |= {"lm": "GPT-2 (124 M), `llm_perplexity_filter`"}
_HOW = """\
{count} samples with a JPEG of 640 x 480 pixels, a caption of 12 words and a document of 20 to 200 words; weights are
random. Ours is the operator over a JINX dataset in one process: samples are read, images decoded, texts tokenized and
samples chosen. The loop is what somebody writes by hand with transformers for this model alone, in batches of 32 as the
samples come. Threads of PyTorch that wait leave their core to others (`OMP_WAIT_POLICY=passive`), as in workers.
Medians of {turns} alternating runs after one of each with a few samples."""


_FIVE_TEXT = """\
Five operators with one CLIP model (three similarities, embeddings, tags) take {ratio:.2f} times the time of one
(target: at most {target}; reached: {reached})."""

_OF_THEIRS = """\
CPU seconds for the same models and samples. Data-Juicer's operators run a model on one sample at a time, which costs a
GPU much, but these cores little: most of the time is that of the model. The loop by hand shows what is left to gain:
where it is not twice as fast as theirs, no program with the same model and precision is."""


_REACHED = {True: "yes", False: "no"}
_KILLS = """\
A run asks {requests:,} times with two workers, 20 requests under way in each. A worker is killed (SIGKILL) after a
fifth of the requests, with {answered_before_worker:,} answers kept, and the driver after half of them, with
{answered_before_driver:,}. The run that is started again asks for {asked_twice} of these answers once more (target: 0;
reached: {reached}). In all, {sent:,} requests were sent, {different:,} different ones: those under way at a kill are
sent again."""

_TEN = """\
Both run on tiny models with random weights. Differences of 1e-5 and below are rounding: theirs runs the model on one
sample, ours on batches of them. Of operators that Data-Juicer does not run in the newest libraries, the table has its
error. Captions are not compared: theirs draws them at random."""


_CLIENT = """\
Different requests of 2 kB, {under_way} under way at once, to a local server that answers each after a latency; it is
another process, and has one of the two cores. Of the unreliable service, 10 % of the answers are 429, and 5 % never
come (time-out after twice the latency); its time is given next to that of the reliable one. `aiohttp` is a loop over
the same library without retries, budgets and kept answers. Medians of {turns} rounds, of the longer latency one
round.

The ideal has as many requests under way and takes no time itself; of the unreliable service, it sends refused requests
again at once, and late ones after their time. It then needs (0.85 + 0.05 x 2) / 0.85 = 1.12 times as long for each
request, and at the end waits for those that are late twice: this is the least without asking for an answer twice, which
would be paid twice.

With a latency of 50 ms the ideal is 4,000 requests a second: at this rate the server and the client each need a whole
core, so that answers come later than the latency, and of the unreliable service many later than the time-out. With 500
ms, which is still short for a language model, it is 400 a second."""


def page(results: dict[str, Any]) -> str:
    """The page as Markdown, of the parts that were measured."""
    parts = ["# Operators with models"]
    runs: dict[str, list[str]] = {}
    for name in measure.PARTS:
        if name in results:
            runs.setdefault(about_run(results[name]["about"]), []).append(name)
    parts += [text if len(runs) == 1 else f"Parts {', '.join(names)}: {text}" for text, names in runs.items()]
    if any(name in results for name in _TITLES):
        parts += [_HOW.format(count=_count(results), turns=measure.TURNS), "## Next to a loop by hand\n\nCPU seconds."]
        parts.append(_loops(results))
    if "five" in results:
        ratio = results["five"]["5_cpu_seconds"] / results["five"]["1_cpu_seconds"]
        parts.append(_FIVE_TEXT.format(ratio=ratio, target=_FIVE, reached=_REACHED[ratio <= _FIVE]))
    if "theirs" in results:
        parts += ["## Next to Data-Juicer", _OF_THEIRS, _theirs(results)]
    if "ten" in results:
        parts += ["## Scores next to Data-Juicer's", _TEN, ten.table(results["ten"]["operators"])]
    if "llm" in results:
        parts += ["## The client for language models", _client(results["llm"]["loads"])]
    if "kills" in results:
        found = results["kills"]
        parts += ["## Killed runs", _KILLS.format(**found, reached=_REACHED[found["asked_twice"] == 0])]
    return "\n\n".join(parts) + "\n"


def _count(results: dict[str, Any]) -> int:
    return max(results[name]["count"] for name in _TITLES if name in results)


def _loops(results: dict[str, Any]) -> str:
    rows = ["| model and operator | samples | loop, s | ours, s | share of its speed | target | reached | difference |"]
    rows.append("|---|--:|--:|--:|--:|--:|---|--:|")
    for name, title in _TITLES.items():
        if name in results:
            figures = results[name]
            share = figures["loop_cpu_seconds"] / figures["ours_cpu_seconds"]
            cells = [
                f"{figures['loop_cpu_seconds']:.2f}",
                f"{figures['ours_cpu_seconds']:.2f}",
                f"{share:.2f}",
                f"{_LOOP}",
            ]
            cells.append(_REACHED[share >= _LOOP])
            rows.append(f"| {title} | {figures['count']} | {' | '.join(cells)} | {figures['difference']:.0e} |")
    return "\n".join(rows)


def _client(loads: list[list[dict[str, Any]]]) -> str:
    """The table of the client."""
    rows = [
        "| latency, ms | client | service | answered | seconds | of the ideal | target | CPU ms | target | reached |",
        "|--:|---|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    rows += [row for rounds in loads for row in _client_rows(rounds)]
    return f"{_CLIENT.format(under_way=200, turns=measure.TURNS)}\n\n" + "\n".join(rows)


def _client_rows(rounds: list[dict[str, Any]]) -> Iterator[str]:
    reliable = _median(rounds, ("ours", "reliable"), "seconds")
    for client, service in (("aiohttp", "reliable"), ("ours", "reliable"), ("ours", "unreliable")):
        kind = (client, service)
        count, answered = (
            rounds[0]["requests"],
            min(int(measured["answered"]) for measured in rounds if _kind(measured) == kind),
        )
        seconds, cpu = _median(rounds, kind, "seconds"), _median(rounds, kind, "cpu_ms")
        ideal = _median(rounds, kind, "share_of_ideal")
        share, target, is_reached = f"{ideal:.2f}", f"{_IDEAL}", ideal >= _IDEAL
        if service == "unreliable":
            yield _floor(rounds, kind)
            share, target = f"{seconds / reliable:.2f} times the time", f"{_UNRELIABLE}"
            is_reached = answered == count and seconds <= _UNRELIABLE * reliable
        reached = _REACHED[is_reached and cpu <= _CPU_MS]
        limits = (target, f"{_CPU_MS:.0f}", reached) if client == "ours" else ("", "", "")
        cells = [f"{answered:,} of {count:,}", f"{seconds:.2f}", share, limits[0], f"{cpu:.2f}", *limits[1:]]
        yield f"| {rounds[0]['latency'] * 1000:.0f} | {client} | {service} | {' | '.join(cells)} |"


def _floor(rounds: list[dict[str, Any]], kind: tuple[str, str]) -> str:
    """The row of the ideal client of an unreliable service: the least that can be reached."""
    seconds, reliable = (_median(rounds, of, "ideal_seconds") for of in (kind, ("ours", "reliable")))
    count = f"{rounds[0]['requests']:,}"
    cells = [f"{count} of {count}", f"{seconds:.2f}", f"{seconds / reliable:.2f} times the time: the floor"]
    return f"| {rounds[0]['latency'] * 1000:.0f} | ideal | unreliable | {' | '.join(cells)} | | | | |"


def _kind(measured: dict[str, Any]) -> tuple[str, str]:
    return measured["client"], measured["service"]


def _median(rounds: list[dict[str, Any]], kind: tuple[str, str], name: str) -> float:
    return median(measured[name] for measured in rounds if _kind(measured) == kind)


def _theirs(results: dict[str, Any]) -> str:
    rows = ["| model and operator | theirs, s | ours, s | times as fast | target | reached | the loop | difference |"]
    rows.append("|---|--:|--:|--:|--:|---|--:|--:|")
    for name, title in _TITLES.items():
        if name not in results:
            continue
        theirs = results["theirs"][name]["cpu_seconds"] / results["theirs"]["count"] * results[name]["count"]
        ours = results[name]["ours_cpu_seconds"]
        cells = [f"{theirs:.2f}", f"{ours:.2f}", f"{theirs / ours:.1f}", f"{_THEIRS:.0f}"]
        cells += [_REACHED[theirs >= _THEIRS * ours], f"{theirs / results[name]['loop_cpu_seconds']:.1f}"]
        rows.append(f"| {title} | {' | '.join(cells)} | {results['theirs'][name]['difference']:.0e} |")
    return "\n".join(rows)


def main() -> None:
    """Command line."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # as in workers; read when PyTorch is imported
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=64, help="the number of samples")
    parser.add_argument("--tiny", action="store_true", help="tiny models, to try the benchmark")
    parser.add_argument("--only", nargs="+", choices=measure.PARTS, help="measure only these parts")
    parser.add_argument("--save", type=save_directory, help="directory for models.json and models.md")
    options = parser.parse_args()
    results = _saved(options.save) if options.only else {}
    about = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": " ".join(["python -m bench.models", f"--samples {options.samples}", *_only(options.only)]),
        "machine": machine(),
        "load": os.getloadavg()[0],
        "versions": {name: version(name) for name in ("torch", "transformers", "aiohttp", "jinx-data")},
    }
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for name, figures in measure.run(
            Path(folder), options.samples, options.only or measure.PARTS, is_tiny=options.tiny
        ):
            about["seconds"] = round(time.monotonic() - started)
            results[name] = {"count": options.samples, **figures, "about": about}
            publish("models", results, page(results), options.save)  # each part as soon as it is there


def _only(names: list[str] | None) -> list[str]:
    return ["--only", *names] if names else []


def _saved(directory: Path | None) -> dict[str, Any]:
    """The parts that were saved before."""
    file = None if directory is None else directory / "models.json"
    return json.loads(file.read_text("utf-8")) if file is not None and file.is_file() else {}


if __name__ == "__main__":
    main()
