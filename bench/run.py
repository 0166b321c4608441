"""Measures JINX and other systems over the same data.

    python -m bench.run                                   # everyone, everything
    python -m bench.run --peers ref,jinx --cases random_all,take --samples 3000
    python -m bench.run --list

Every measurement is a process of its own; systems take turns in every round, and a ratio compares measurements of
the same round. Environments, data and stores are kept in ~/.cache/jinx/bench. --save writes the results of this run to
a file; `python -m bench.report` writes the pages from it.
"""

import argparse
import sys
from pathlib import Path

from bench import environments, peers
from bench.campaign import Campaign
from bench.cases import CASES
from bench.runner import Settings
from bench.table import table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="systems by name, with commas (default: all)")
    parser.add_argument("--cases", "--ops", help="cases by name, with commas; a trailing * matches any (default: all)")
    parser.add_argument("--samples", type=int, default=3000, help="samples with JPEG (default: 3000)")
    parser.add_argument("--pixels", type=int, default=300, help="samples with raw pixels (default: 300)")
    parser.add_argument("--paper", type=int, default=400, help="samples of the paper's shape (default: 400)")
    parser.add_argument("--paper-data", type=Path, nargs="+", help="the paper's data itself, as Parquet files")
    parser.add_argument("--reads", type=int, default=2000, help="samples that the random cases read (default: 2000)")
    parser.add_argument("--repeat", type=int, default=3, help="rounds (default: 3)")
    parser.add_argument("--cap", type=float, default=6.0, help="seconds after which a case is cut off (default: 6)")
    parser.add_argument("--directory", type=Path, help="directory for data and stores (default: ~/.cache/jinx/bench)")
    parser.add_argument("--save", type=Path, help="write the results to this JSON file")
    parser.add_argument("--note", help="a sentence for the report, such as what else the machine was running")
    parser.add_argument("--fresh", action="store_true", help="write all stores again")
    parser.add_argument("--limits", action="store_true", help="measure the hardware limits, too")
    parser.add_argument("--list", action="store_true", help="list systems and cases, and stop")
    options = parser.parse_args()
    systems = peers.every()
    if options.list:
        print(*(f"{name:16} {peer.title}" for name, peer in systems.items()), sep="\n", end="\n\n")
        print(*(f"{name:24} {case.title}" for name, case in CASES.items()), sep="\n")
        return
    if options.save:  # now, and not after hours of work
        options.save.parent.mkdir(parents=True, exist_ok=True)
    campaign = Campaign(
        root=options.directory or environments.cache(),
        samples={"jpeg": options.samples, "pixels": options.pixels, "paper": options.paper},
        paper_data=options.paper_data or [],
        settings=Settings(options.reads, options.cap),
        fresh=options.fresh,
        limits=options.limits,
        note=options.note or "",
    )
    results = campaign.run(
        [systems[name] for name in _chosen(options.peers, list(systems))],
        [CASES[name] for name in _chosen(options.cases, list(CASES))],
        options.repeat,
        # After every case, so that little is lost when a long run is stopped.
        lambda so_far: so_far.dump(options.save) if options.save else None,
    )
    print(table(results))
    if results.wrong:
        sys.exit("bench: systems read different data: " + "; ".join(results.wrong))


def _chosen(wanted: str | None, known: list[str]) -> list[str]:
    if not wanted:
        return known
    chosen: list[str] = []
    for word in wanted.split(","):
        name = word.strip()
        found = [
            candidate
            for candidate in known
            if candidate == name or (name.endswith("*") and candidate.startswith(name[:-1]))
        ]
        if not found:
            sys.exit(f"bench: no {name!r}; --list names all")
        chosen += [candidate for candidate in found if candidate not in chosen]
    return chosen


if __name__ == "__main__":
    main()
