"""The part of the page about loaders: what ours costs, and how it does next to others."""

import statistics
from typing import Any

Record = dict[str, Any]
_GOAL = 0.15
# Batches differ: a resumed one may take so many times as long as a fresh one, and count as the same time.
_NOISE = 1.1
TITLES = {
    "jinx": "`PackedDataLoader`, threads",
    "jinx-processes": "`PackedDataLoader`, worker processes",
    "litdata": "`DataLoader` over litdata, greedy packs in its workers",
    "streaming": "`DataLoader` over MosaicML Streaming, greedy packs in its workers",
}


def loader_part(loader: Record, feeds: Record) -> str:
    """Targets of the loader, then the loaders next to each other."""
    return f"{_costs(loader)}\n\n### Next to other loaders\n\n{_feeds(feeds)}"


def _costs(loader: Record) -> str:
    told = (
        f"CPU time of an epoch of {loader['samples']:,} samples with one reading thread, and of the same samples "
        "read, decoded and tokenized without it. The first batch comes from a new loader: at the beginning of nine "
        "epochs, and after `load_state_dict` at nine places in one epoch (medians of CPU time)."
    )
    lines = [
        told,
        "",
        "| samples | loader | without it | added (<= 15 %) | first batch, fresh | resumed (<= fresh) | reached |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    for name, case in loader["cases"].items():
        fresh, resumed = case["fresh_seconds"], case["resume_seconds"]
        reached = case["added"] <= _GOAL and resumed <= fresh * _NOISE
        lines.append(
            f"| {name} | {case['cpu_seconds_loader']:.2f} s | {case['cpu_seconds_without']:.2f} s "
            f"| {case['added']:.1%} | {fresh * 1e3:.0f} ms | {resumed * 1e3:.0f} ms | {'yes' if reached else 'no'} |"
        )
    return "\n".join(lines)


def _feeds(feeds: Record) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in feeds["versions"].items())
    good = [record for record in feeds["records"] if "failed" not in record]
    failed = {record["feed"]: record["failed"] for record in feeds["records"] if "failed" in record}
    told = (
        f"{feeds['samples']:,} images with conversations, shuffled, {feeds['workers']} workers, one sequence of 4096 "
        f"tokens in a batch; an epoch each in turn, {feeds['rounds']} rounds, medians; {versions}. JPEG files are "
        "decoded (by Pillow for the others, in Rust for JINX), text goes through the same tokenizer, and one collator "
        "lays out all batches. The others do not pack, so a greedy packer runs in their workers. Fuller sequences "
        "are fewer: samples/s says how long an epoch takes."
    )
    lines = [
        told,
        "",
        "| loader | batches/s | samples/s | useful tokens | CPU ms per sample | samples/s, JINX threads = 1 |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    ours = _median(good, "jinx", "wall")
    for name, title in TITLES.items():
        if name not in {record["feed"] for record in good}:
            continue
        batches, wall, cpu = (_median(good, name, figure) for figure in ("batches", "wall", "cpu"))
        tokens = _median(good, name, "tokens")
        lines.append(
            f"| {title} | {batches / wall:.1f} | {feeds['samples'] / wall:,.0f} | {tokens / (batches * 4096):.1%} "
            f"| {cpu / feeds['samples'] * 1e3:.2f} | {ours / wall:.2f} |"
        )
    failures = [f"- {TITLES[name]} has no figures: {why}" for name, why in failed.items()]
    return "\n".join([*lines, *([""] if failures else []), *failures])


def _median(records: list[Record], name: str, figure: str) -> float:
    return statistics.median(record[figure] for record in records if record["feed"] == name)
