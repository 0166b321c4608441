"""Operators with models next to a loop by hand and Data-Juicer: samples a second, CPU time, and equal scores.

python -m bench.models --save docs/benchmarks
"""

import argparse
import os
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.about import about_run, publish, save_directory
from bench.campaign import commit, machine
from bench.models import measure

_LOOP, _THEIRS, _FIVE = 0.95, 2.0, 1.1
_TITLES = {"clip": "CLIP ViT-B/32, `image_text_similarity_filter`", "vit": "ViT-B/16, `image_nsfw_filter`"}
_TITLES |= {"lm": "GPT-2 (124 M), `llm_perplexity_filter`"}
_HOW = """\
{count} samples with a JPEG of 640 x 480 pixels, a caption of 12 words and a document of 20 to 200 words; weights are
random. Ours is the operator over a JINX dataset in one process: samples are read, images decoded, texts tokenized and
samples chosen. The loop is what somebody writes by hand with transformers for this model alone, in batches of 32 as the
samples come. Medians of {turns} alternating runs after one of each."""


_FIVE_TEXT = """\
Five operators with one CLIP model (three similarities, embeddings, tags) take {ratio:.2f} times the time of one
(target: at most {target})."""


def page(results: dict[str, Any]) -> str:
    """The page as Markdown."""
    rows = ["| model and operator | loop, s | ours, s | ours, share of its speed | target | largest difference |"]
    rows.append("|---|--:|--:|--:|--:|--:|")
    for name, title in _TITLES.items():
        one = results[name]
        share = one["loop_cpu_seconds"] / one["ours_cpu_seconds"]
        cells = [f"{one['loop_cpu_seconds']:.2f}", f"{one['ours_cpu_seconds']:.2f}", f"{share:.2f}", f"{_LOOP}"]
        rows.append(f"| {title} | {' | '.join(cells)} | {one['difference']:.0e} |")
    five = results["five"]["5_cpu_seconds"] / results["five"]["1_cpu_seconds"]
    parts = [
        "# Operators with models",
        about_run(results["about"]),
        _HOW.format(count=results["count"], turns=measure.TURNS),
        "## Next to a loop by hand\n\nCPU seconds.",
        "\n".join(rows),
        _FIVE_TEXT.format(ratio=five, target=_FIVE),
    ]
    if results["theirs"] is not None:
        parts += ["## Next to Data-Juicer\n\nCPU seconds for the same models and samples.", _theirs(results)]
    return "\n\n".join(parts) + "\n"


def _theirs(results: dict[str, Any]) -> str:
    rows = ["| model and operator | theirs, s | ours, s | times as fast | target | largest difference |"]
    rows.append("|---|--:|--:|--:|--:|--:|")
    for name, title in _TITLES.items():
        theirs, ours = results["theirs"][name]["cpu_seconds"], results[name]["ours_cpu_seconds"]
        cells = [f"{theirs:.2f}", f"{ours:.2f}", f"{theirs / ours:.1f}", f"{_THEIRS:.0f}"]
        rows.append(f"| {title} | {' | '.join(cells)} | {results['theirs'][name]['difference']:.0e} |")
    return "\n".join(rows)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=192, help="the number of samples")
    parser.add_argument("--tiny", action="store_true", help="tiny models, to try the benchmark")
    parser.add_argument("--alone", action="store_true", help="without Data-Juicer, whose environment takes gigabytes")
    parser.add_argument("--save", type=save_directory, help="directory for models.json and models.md")
    options = parser.parse_args()
    started, load = time.monotonic(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        results = measure.run(Path(folder), options.samples, is_tiny=options.tiny, with_theirs=not options.alone)
    results["count"] = options.samples
    results["about"] = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.models --samples {options.samples}",
        "machine": machine(),
        "load": load,
        "versions": {name: version(name) for name in ("torch", "transformers", "jinx-data")},
        "seconds": round(time.monotonic() - started),
    }
    publish("models", results, page(results), options.save)


if __name__ == "__main__":
    main()
