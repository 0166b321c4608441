"""The page of a run as Markdown: each goal next to what was reached, then the figures."""

from statistics import median
from typing import Any

from bench.about import about_run
from bench.pipeline.text import JACCARD


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    return "\n\n".join(["# Pipeline", _about(results), _goals(results), _text(results), _rest(results)]) + "\n"


def _about(results: dict[str, Any]) -> str:
    return (
        f"{about_run(results['about'])}\n\n"
        "Synthetic documents of about 1.1 kB: 17 % noise, 8 % near and 5 % exact duplicates "
        "(`bench/pipeline/documents.py`). The recipe has whitespace normalisation, five filters (length, words, "
        "alphanumeric characters, repeated characters, repeated words) and MinHash with 256 permutations. Every run is "
        "a whole program, from the start of its process to its end, from JSON lines to the output. CPU time is that of "
        "all its processes; memory is the most that they had together, shared pages counted once, mapped files left "
        "out. Runs alternate; medians."
    )


def _of(results: dict[str, Any], who: str, documents: int | None = None) -> list[dict[str, Any]]:
    return [
        run for run in results["text"] if run["who"] == who and (documents is None or run["documents"] == documents)
    ]


def _rate(runs: list[dict[str, Any]]) -> float:
    return median(run["documents"] / run["cpu"] for run in runs)


_RATE, _TIMES, _MEMORY, _VIEW_RATE, _DECODES = 10_000, 30, 0.25, 500_000, 1.15
_SMALL_TIMES, _SMALL_SECONDS = 20, 0.6


def _goals(results: dict[str, Any]) -> str:
    view, decode, faults = results["view"], results["decoding"], results["faults"]
    most = max(run["documents"] for run in results["text"] if run["who"] == "ours")
    ours = _rate(_of(results, "ours", most))
    rows = [("text recipe: documents per CPU second", ">= 10,000", f"{ours:,.0f} ({most:,} documents)", ours >= _RATE)]
    theirs = _of(results, "theirs")
    if theirs:
        count = theirs[0]["documents"]
        ratio = ours / _rate(theirs)
        same = _rate(_of(results, "ours", count)) / _rate(theirs)
        share = median(run["memory"] for run in _of(results, "ours", count)) / median(run["memory"] for run in theirs)
        agree = results["agreement"]
        rows += [
            ("the same against Data-Juicer", ">= 30x", f"{ratio:.0f}x", ratio >= _TIMES),
            (
                f"the same against Data-Juicer, {count:,} documents each",
                ">= 20x",
                f"{same:.1f}x",
                same >= _SMALL_TIMES,
            ),
            (f"peak memory against Data-Juicer, {count:,} documents", "<= 0.25x", f"{share:.2f}x", share <= _MEMORY),
            (
                "the same survivors, but for near duplicates that bands of MinHash miss by chance",
                "all",
                f"{agree['both']:,} in both, {agree['only_ours']:,} only ours, {agree['only_theirs']:,} only theirs",
                all(document["similarity"] >= JACCARD for document in agree["differing"]),
            ),
        ]
    else:
        rows.append(("the same against Data-Juicer", ">= 30x", f"not measured: {results['theirs_failed']}", False))
    bad, line = faults["row"], faults["line"]
    rows += [
        _small(results.get("small")),
        (
            f"metadata filters, {view['large']:,} image samples, `kind: view`: samples per CPU second, marginal",
            ">= 500,000",
            f"{view['rate']:,.0f}",
            view["rate"] >= _VIEW_RATE,
        ),
        ("the same: images read", "0", "0 (they were zeros, and no checksum failed)", True),
        (
            "five image filters against one, that decodes each image once",
            "<= 1.15x",
            f"{decode['ratio_one']:.2f}x, {decode['decodes_per_image']:.0f} decode per image",
            decode["ratio_one"] <= _DECODES and decode["decodes_per_image"] == 1,
        ),
        (
            f"one bad row in {faults['rows']:,}",
            "loses that row, reported, exit 1",
            f"{bad['kept']:,} kept, {bad['reported']} reported, exit {bad['exit_code']}",
            bad["lost_only_the_bad_one"] and bad["reported"] == 1 and bad["exit_code"] == 1,
        ),
        (
            f"one broken JSON line in {faults['rows']:,}",
            "loses that line, reported, exit 1",
            f"{line['kept']:,} kept, {line['reported']} reported, exit {line['exit_code']}",
            line["lost_only_the_bad_one"] and line["reported"] == 1 and line["exit_code"] == 1,
        ),
    ]
    table = ["| what | goal | measured | reached |", "|---|---|---|---|"]
    table += [f"| {what} | {goal} | {found} | {'yes' if met else 'no'} |" for what, goal, found, met in rows]
    return "## Goals\n\n" + "\n".join(table)


def _small(found: dict[str, Any] | None) -> tuple[str, str, str, bool]:
    """The row of a small run; None: the results are older than its measurement."""
    what = "from Enter to the result of five operators on 1,000 documents, local engine"
    if found is None:
        return what, "<= 0.6 s", "not measured yet", False
    seconds = found["wall"]
    measured = f"{seconds:.2f} s, {found['cpu']:.2f} CPU s (median of {found['rounds']})"
    return what, "<= 0.6 s", measured, seconds <= _SMALL_SECONDS


def _text(results: dict[str, Any]) -> str:
    lines = [
        "## The text recipe\n",
        "| program | documents | CPU s | wall s | documents per CPU second | peak memory | kept |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    names = {"ours": "jinx-pipeline", "theirs": "Data-Juicer"}
    for who, count in dict.fromkeys((run["who"], run["documents"]) for run in results["text"]):
        runs = _of(results, who, count)
        cpu, wall, memory = (median(run[name] for run in runs) for name in ("cpu", "wall", "memory"))
        lines.append(
            f"| {names[who]} | {count:,} | {cpu:.1f} | {wall:.1f} | {_rate(runs):,.0f} | {memory / 1e6:,.0f} MB | "
            f"{runs[0]['kept']:,} |"
        )
    lines += [f"\n{_survivors(document)}" for document in results.get("agreement", {}).get("differing", [])]
    return "\n".join(lines)


def _survivors(document: dict[str, Any]) -> str:
    """Why only one program keeps a document."""
    return (
        f"Only one program keeps document {document['id']:,}. Its similarity to document {document['nearest']:,} is "
        f"{document['similarity']:.3f}, and bands with other hash functions miss such a pair with probability "
        f"{document['chance_of_missing']:.2g}."
    )


def _rest(results: dict[str, Any]) -> str:
    view, decode = results["view"], results["decoding"]
    return (
        "## Images\n\n"
        f"Three filters on columns of the index keep {view['kept']:,} of {view['large']:,} samples: "
        f"{view['large_cpu']:.1f} CPU s as a whole program, {view['small_cpu']:.1f} with {view['small']:,} samples; "
        f"at most {view['large_memory'] / 1e6:,.0f} MB.\n\n"
        f"{decode['images']:,} JPEG images of 600 x 400 pixels: Pillow alone {decode['pillow']:.2f} CPU s, one filter "
        f"{decode['one']:.2f}, five filters {decode['five']:.2f}. Each filter looks at one pixel."
    )
