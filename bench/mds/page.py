"""The page of a run as Markdown: targets and results, and where the time goes."""

import statistics
from dataclasses import dataclass
from typing import Any

from bench.about import about_run

Record = dict[str, Any]


@dataclass(frozen=True)
class Ratio:
    """How many times as fast as another reader ours must be."""

    title: str
    shards: str
    case: str
    ours: str
    other: str
    at_least: float
    basis: str = "cpu"


RATIOS = (
    Ratio("random, all columns one by one, CPU", "raw", "random", "jinx ram", "mldf ram", 2),
    Ratio("random, all columns one by one, CPU", "raw", "random", "jinx ram", "streaming", 2.5),
    Ratio("sequential, all columns, CPU", "raw", "iterate", "jinx bulk", "mldf bulk", 2),
    Ratio("columns other than the image, CPU", "raw", "iterate, no image", "jinx bulk", "mldf bulk", 6),
    Ratio("columns other than the image, CPU", "raw", "iterate, no image", "jinx ram", "mldf ram", 6),
    Ratio("columns other than the image, CPU", "raw", "iterate, no image", "jinx ram", "streaming", 6),
    Ratio("raw pixels, sample-zstd, one by one, CPU", "pixels", "pixels", "jinx ram", "libzstd", 0.95),
    Ratio(
        "raw pixels, sample-zstd, `take` of 64, wall, all cores",
        "pixels",
        "pixels",
        "jinx take",
        "libzstd, all cores",
        0.95,
        "wall",
    ),
    Ratio("file-compressed shards, sequential, CPU", "zstd", "iterate", "jinx bulk", "streaming", 3),
    Ratio("`StreamingDataset[i]`, patched, CPU", "raw", "StreamingDataset[i]", "jinx patched", "streaming", 1.7),
    Ratio(
        "`StreamingDataset`, iterated, patched, CPU",
        "raw",
        "StreamingDataset, iterate",
        "jinx patched",
        "streaming",
        1,
    ),
)
MEMORY_BYTES = 60_000_000
OPEN_SECONDS = 0.5


class Results:
    """The records of a run."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.about: dict[str, Any] = results["about"]
        self.pieces: dict[str, float] = results["pieces"]
        self.records: list[Record] = [record for record in results["records"] if "failed" not in record]
        self.failures: list[Record] = [record for record in results["records"] if "failed" in record]

    def of(self, shards: str, case: str, reader: str) -> list[Record]:
        """The records of one reader, by round."""
        wanted = (shards, case, reader)
        return [record for record in self.records if (record["shards"], record["case"], record["reader"]) == wanted]

    def ratio(self, target: Ratio) -> float:
        """The median over the rounds."""
        pairs = zip(
            self.of(target.shards, target.case, target.other),
            self.of(target.shards, target.case, target.ours),
            strict=True,
        )
        return statistics.median(other[target.basis] / own[target.basis] for other, own in pairs)


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    run = Results(results)
    parts = [
        "# MDS readers",
        about_run(run.about),
        _ABOUT,
        "## Targets\n\n" + _targets(run),
        "## Where the time goes\n\n" + _pieces(run),
        "## All figures\n\n" + _figures(run),
    ]
    return "\n\n".join(parts) + "\n"


_ABOUT = (
    "Samples of 47 kB of image, 1 kB of messages and five small columns; page cache warm. Every measurement is a "
    "process of its own, opening and unpacking included, the readers take turns, and the tables give medians "
    "of the rounds (ratios: of measurements of one round). `jinx patched` is Streaming with "
    "`jinx.mds.patch_streaming()`. Private memory is the peak of the process above what it had after its imports."
)


def _targets(run: Results) -> str:
    lines = ["| operation | target | result | reached |", "|---|---|---|---|"]
    for target in RATIOS:
        ratio = run.ratio(target)
        met = "yes" if ratio >= target.at_least else "no"
        lines.append(
            f"| {target.title} | {target.ours} >= {target.at_least:g}x {target.other} | {ratio:.2f}x | {met} |"
        )
    ours = [
        record for record in run.records if record["reader"].startswith("jinx") and record["reader"] != "jinx patched"
    ]
    bulk = max(record["disk"] for record in ours if record["reader"] == "jinx bulk")
    lines.append(f"| extra disk of BulkReader | none | {bulk / 1e6:.0f} MB | {'yes' if bulk == 0 else 'no'} |")
    peak = max(ours, key=lambda record: record["memory"])
    met = "yes" if peak["memory"] <= MEMORY_BYTES else "no"
    where = f"{peak['reader']}, {peak['case']}, {peak['shards']}"
    lines.append(
        f"| peak private memory of the readers | <= {MEMORY_BYTES / 1e6:.0f} MB "
        f"| {peak['memory'] / 1e6:.0f} MB ({where}) | {met} |"
    )
    seconds = statistics.median(record["wall"] for record in run.of("many", "open", "jinx ram"))
    met = "yes" if seconds <= OPEN_SECONDS else "no"
    lines.append(f"| opening 10,000 shards | <= {OPEN_SECONDS} s | {seconds:.3f} s | {met} |")
    return "\n".join(lines)


def _pieces(run: Results) -> str:
    told = (
        "CPU time of RamReader for a sample of the raw shards in random order, by what is touched; each line includes "
        "the loop. The last three lines are other work for comparison, on data at hand."
    )
    lines = [told, "", "| piece | us |", "|---|--:|"]
    lines += [f"| {name} | {seconds * 1e6:.2f} |" for name, seconds in run.pieces.items()]
    return "\n".join(lines)


def _figures(run: Results) -> str:
    lines = ["| shards | case | reader | us CPU | us wall | private MB | disk MB |", "|---|---|---|--:|--:|--:|--:|"]
    for shards, case, reader in dict.fromkeys(
        (record["shards"], record["case"], record["reader"]) for record in run.records
    ):
        found = run.of(shards, case, reader)
        middle = {key: statistics.median(record[key] for record in found) for key in ("cpu", "wall", "disk")}
        memory = max(record["memory"] for record in found)
        lines.append(
            f"| {shards} | {case} | {reader} | {middle['cpu'] * 1e6:.1f} | {middle['wall'] * 1e6:.1f} "
            f"| {memory / 1e6:.0f} | {middle['disk'] / 1e6:.0f} |"
        )
    failures = dict.fromkeys(
        f"- {record['reader']} cannot do `{record['case']}` of {record['shards']}: {record['failed']}"
        for record in run.failures
    )
    return "\n".join([*lines, "", *failures] if failures else lines)
