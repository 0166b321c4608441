"""The page of the pipeline in a bucket as Markdown."""

from statistics import median
from typing import Any

from bench.about import about_run
from bench.pipeline.bucket.estimate import (
    BLOCKS,
    KEYS_PER_LIST,
    LEASE_SECONDS,
    NODES,
    WORKERS,
    fitted,
    of_large_run,
    price,
)
from bench.pipeline.bucket.runs import BLOCK_ROWS, FIRST_BYTE_SECONDS, RUN_CORES, STORE_CORES
from bench.pipeline.bucket.runs import WORKERS as LOCAL_WORKERS
from jinx._sizes import natural_size

THROUGHPUT, REQUESTS, LOG_SECONDS, MEMORY = 0.85, 12, 2.0, 300_000_000


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    sections = [_about(results), _targets(results), _throughput(results), _requests(results), _large(results)]
    return "\n\n".join(["# The pipeline in a bucket", *sections]) + "\n"


def _about(results: dict[str, Any]) -> str:
    return (
        f"{about_run(results['about'])}\n\n"
        f"Input, working directory and output are in a bucket of a server on this machine, which waits "
        f"{1000 * FIRST_BYTE_SECONDS:g} ms before each answer. Cores of the server: {len(STORE_CORES)}; of each run, "
        f"also one on the disk: {len(RUN_CORES)}. Blocks have {BLOCK_ROWS:,} documents of 1.1 kB. Wall times are "
        f"medians of {results['rounds']} runs, which alternate."
    )


def _per_block(results: dict[str, Any]) -> float:
    return max(
        sum(line.per_block for line in fitted(sizes["small"], sizes["large"])) for sizes in results["requests"].values()
    )


def _targets(results: dict[str, Any]) -> str:
    log, driver, again = results["log"], results["driver"], results["resume"]
    worst = min(_ratio(times["large"]) for times in results["seconds"].values())
    longest = min(_long_ratio(times) for times in results["seconds"].values())
    rows = [
        (
            f"throughput of a disk, {LOCAL_WORKERS} workers",
            f">= {THROUGHPUT:g}",
            f"{worst:.2f}",
            worst >= THROUGHPUT,
        ),
        (
            "the same of a long run, from two sizes",
            f">= {THROUGHPUT:g}",
            f"{longest:.2f}",
            longest >= THROUGHPUT,
        ),
        ("requests of a block", f"<= {REQUESTS}", f"{_per_block(results):.1f}", _per_block(results) <= REQUESTS),
        (
            f"a run that is resumed after {again['committed']} of {again['blocks']} blocks opens no finished input",
            f"0 of {again['finished']} shards",
            f"{again['opened']} of them",
            not again["opened"],
        ),
        (
            f"read a log of {log['blocks']:,} blocks in {log['objects']:,} objects",
            f"<= {LOG_SECONDS:g} s",
            f"{log['seconds']:.1f} s",
            log["seconds"] <= LOG_SECONDS,
        ),
        (
            "memory of a driver with a billion samples",
            f"<= {natural_size(MEMORY)}",
            natural_size(driver["memory"]),
            driver["memory"] <= MEMORY,
        ),
    ]
    table = ["## Targets\n", "| what | target | measured | reached |", "|---|---|---|---|"]
    table += [
        f"| {what} | {target} | {reached} | {'yes' if met else '**no**'} |" for what, target, reached, met in rows
    ]
    return "\n".join(table)


def _ratio(times: dict[str, list[float]]) -> float:
    return median(times["disk"]) / median(times["bucket"])


def _added(times: dict[str, dict[str, list[float]]], place: str) -> float:
    """How much longer the large run takes than the small one: all that does not depend on the size cancels out."""
    return median(times["large"][place]) - median(times["small"][place])


def _long_ratio(times: dict[str, dict[str, list[float]]]) -> float:
    """The ratio of a run so long that its beginning and end do not count."""
    return _added(times, "disk") / _added(times, "bucket")


def _throughput(results: dict[str, Any]) -> str:
    lines = [
        "## Wall time\n",
        (
            "Some time of a run does not depend on its size: processes start, the output is published. The last "
            "columns are what each further block of the larger run has added, and so the ratio of a long run.\n"
        ),
        "| recipe | blocks | disk | bucket | throughput of the disk's | each block, disk | bucket | of a long run |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, times in results["seconds"].items():
        blocks = {size: facts["blocks"] for size, facts in results["requests"][name].items()}
        more = blocks["large"] - blocks["small"]
        for size in ("small", "large"):
            disk, bucket = (median(times[size][place]) for place in ("disk", "bucket"))
            row = f"| {name} | {blocks[size]} | {disk:.2f} s | {bucket:.2f} s | {disk / bucket:.2f} |"
            if size == "large":
                added = " | ".join(f"{1000 * _added(times, place) / more:.0f} ms" for place in ("disk", "bucket"))
                row += f" {added} | {_long_ratio(times):.2f} |"
            else:
                row += " | | |"
            lines.append(row)
    return "\n".join(lines)


def _requests(results: dict[str, Any]) -> str:
    lines = ["## Requests\n", "| recipe | kind | of a run | of each block |", "|---|---|--:|--:|"]
    for name, sizes in results["requests"].items():
        lines += [
            f"| {name} | {line.kind} | {line.per_run:.0f} | {line.per_block:.2f} |"
            for line in fitted(sizes["small"], sizes["large"])
        ]
    return "\n".join(lines)


def _large(results: dict[str, Any]) -> str:
    driver = results["driver"]
    lines = [
        f"## A run of 10 TB on {NODES} nodes\n",
        (
            f"{BLOCKS:,} blocks on {WORKERS:,} workers, from the requests above; a list answers "
            f"{KEYS_PER_LIST:,} names a request. Prices are those of S3 Standard in us-east-1 "
            "(aws.amazon.com/s3/pricing); what a store charges for traffic is not part of them.\n"
        ),
        "| recipe | requests | price |",
        "|---|--:|--:|",
    ]
    for name, sizes in results["requests"].items():
        totals = of_large_run(fitted(sizes["small"], sizes["large"]))
        lines.append(f"| {name} | {sum(totals.values()):,.0f} | ${price(totals):,.2f} |")
    lines.append(
        f"\nA driver that takes over waits {LEASE_SECONDS:g} s for the lease of the dead one, then needs "
        f"{driver['resume_seconds']:.1f} s until it gives out the first task. The log has "
        f"{natural_size(driver['bytes'])}."
    )
    return "\n".join(lines)
