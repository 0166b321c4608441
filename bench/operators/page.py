"""The page of a run as Markdown: targets, speed, many documents, and the comparison of results."""

import statistics
from typing import Any

from bench.about import about_run
from bench.operators.compare import Outcome, table
from bench.operators.steps import STEPS

_MEMORY = 2_000_000_000
_HOW_TIMED = """\
Documents per CPU second on one core, operator code alone: theirs on lists of Python strings, ours on Arrow strings, a
thousand documents at a time. The documents are web-like text of about 1.1 kB with planted noise and duplicates
(`bench/operators/recipe_texts.py`). The sides take turns, each round in fresh processes; medians."""
_HOW_COMPARED = """\
The operators of both that need no model, on {documents:,} documents in English, Chinese, Arabic, Hindi and emoji, of
code, markup, LaTeX and tables, with empty, huge and repeated ones (`bench/operators/documents.py`). The lists of stop
words and flagged words are the same. `kept differently`: documents that only one of the two filters keeps. Not compared
are operators that need a model or a tokenizer from a network (`perplexity_filter`, `language_id_score_filter`,
`token_num_filter`, `sentence_split_mapper`)."""


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    compared = [Outcome(**facts) for facts in results["compared"]]
    parts = [
        "# Text operators",
        about_run(results["about"]),
        "## Speed of the operator code",
        _HOW_TIMED,
        _speed(results["speed"]),
        "## MinHash of many documents",
        _many(results["many"]),
        "## Results next to Data-Juicer's",
        _HOW_COMPARED.format(documents=compared[0].documents),
        table(compared).rstrip(),
    ]
    return "\n\n".join(parts) + "\n"


def _speed(records: list[dict[str, Any]]) -> str:
    rows = [
        "| step | theirs, documents/s | ours, documents/s | times as fast | target | reached | where our time goes |",
        "|---|--:|--:|--:|--:|---|---|",
    ]
    for step in STEPS:
        theirs, ours = (
            statistics.median(
                record["documents"] / record["cpu"]
                for record in records
                if record["side"] == side and record["step"] == step.name
            )
            for side in ("theirs", "ours")
        )
        times = ours / theirs
        reached = f"{step.target:.0f} | {'yes' if times >= step.target else 'no'}"
        rows.append(f"| {step.name} | {theirs:,.0f} | {ours:,.0f} | {times:.1f} | {reached} | {step.where} |")
    return "\n".join(rows)


def _many(many: dict[str, Any] | None) -> str:
    if many is None:
        return "Left out of this run."
    reached = "yes" if many["memory"] < _MEMORY else "no"
    return (
        f"{many['documents']:,} documents, {many['bytes'] / 1e9:.2f} GB as JINX, with"
        " `document_minhash_deduplicator` (256 permutations) by the local engine with two workers into a saved view:"
        f" {many['wall']:.0f} s, {many['cpu']:.0f} s of CPU time, {many['kept']:,} kept."
        f" Highest memory of all processes together, without pages of files: {many['memory'] / 1e9:.2f} GB"
        f" (target: below 2 GB; reached: {reached})."
    )
