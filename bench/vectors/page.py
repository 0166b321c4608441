"""The page of a run as Markdown: targets next to what was reached, then every figure."""

from typing import Any

from bench.about import about_run
from bench.vectors import columns, dedup, indexed, search
from bench.views.page import Target, by_contestant, figures, judged

TARGETS = (
    Target(columns.ADD, 1.2, "wall", (columns.PARQUET,)),
    Target(columns.BYTES, 1.05, "bytes", (columns.PARQUET,)),
    Target(columns.READ, 1.2, "wall", (columns.ARROW,)),
    Target(columns.OPEN, 5, "wall", scale=1e3, unit="ms"),
    Target(search.WRITE, 0.8, "wall", (search.DISK,), is_speedup=True),
    Target(search.NEAREST, 0.8, "wall", (search.FAISS,), is_speedup=True),
    Target(dedup.DEDUP, 2, "wall", (dedup.PRODUCTS,)),
    Target(dedup.MEMORY, 2e9, "bytes", scale=1, unit="bytes"),
)

_ABOUT = """\
A float32 column is added to {many:,} samples of one integer each; pyarrow writes it to a Parquet file of its own, Lance
adds it to a dataset of as many integers, and all are synced. It is read by opening the file and adding up all values;
ours are compared with their checksums before. {vectors:,} random vectors of {width} float16 are written and synced,
next to a program that only writes their bytes. Then the ten nearest of {queries} queries are searched by cosine: faiss
has float32 vectors in memory, and ours are float16 in the page cache. The deduplication runs in a process of its own on
the same vectors; its memory is that of anonymous pages, which cannot be dropped as those of files. The products are
those of k-means and of all pairs in clusters of equal size alone. An index (IVF) is made of as many vectors around
random points, one point for 200 of them, and searched with queries around the same points; faiss makes as many lists,
has float32 vectors in memory, and searches as few lists as reach the same recall, while ours reads one byte for each
number from the file and compares the best exactly. The
contestants take turns, and medians count; a ratio is the median of those of the rounds."""


def page(result: dict[str, Any]) -> str:
    """The text of the page."""
    found = by_contestant(result["records"])
    lines = ["# Typed columns and vectors", "", about_run(result), "", _ABOUT.format(**result["samples"])]
    lines += ["", "## Targets", "", "| case | target | reached | met |", "|---|---|--:|---|"]
    lines += [judged(target, found) for target in TARGETS]
    lines += ["", "## All figures", "", "| case | contestant | wall | CPU |", "|---|---|--:|--:|"]
    lines += [figures(case, contestant, records) for (case, contestant), records in found.items()]
    agreed = [record["agreement"] for record in result["records"] if "agreement" in record]
    if agreed:
        lines += ["", f"Of our nearest vectors, {agreed[-1]:.2%} are those of faiss."]
    said = indexed.told(result["records"])
    lines += ["", *said] if said else []
    return "\n".join(lines) + "\n"
