"""An index of vectors: making it, and searching with it, next to comparing all of them and to an index of faiss.

python -m bench.vectors.indexed --vectors 1000000 --width 128 [--rounds 3] prints the figures alone.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import jinx
from bench.vectors import peers
from bench.views.columns import write_many
from bench.views.rounds import Record, alternate

MAKE, SEARCH = "make an index", "top 10 by an index"
JINX, EXACT, FAISS = "jinx", "jinx, exact", "faiss, IVF flat"
K, RECALL = 10, 0.95
# So many vectors lie around each point.
_AROUND, _SPREAD = 200, 0.6


def run(place: Path, count: int, width: int, queries: int, rounds: int) -> list[Record]:
    """Make an index of float16 vectors around points, and search queries near to some of them by cosine.

    Args:
        place: A directory for the files.
        count: The number of vectors.
        width: How many numbers each has.
        queries: The number of queries.
        rounds: How often each contestant takes its turn.
    """
    base = jinx.open(write_many(place / "indexed-base.jinx", count))
    vectors, asked = made(count, width, queries)
    values, view = place / "indexed.npy", place / "indexed.jinx"
    np.save(values, vectors)
    np.save(place / "asked.npy", asked)
    base.with_columns({"emb": vectors}).save(view, overwrite=True)
    dataset = jinx.open(view)
    exact = dataset.nearest(asked, "emb", k=K).positions
    np.save(place / "exact.npy", exact)
    index: Any = None

    def make() -> dict[str, Any]:
        nonlocal index
        index = dataset.make_vector_index("emb", recall=RECALL, overwrite=True)
        return {"said": index.recall, "lists": index.lists, "size": Path(index.path).stat().st_size}

    records = alternate(MAKE, {JINX: make}, count=1, rounds=1)

    def ours() -> dict[str, Any]:
        found = dataset.nearest(asked, "emb", k=K, index=index).positions
        shared = [len(set(a) & set(b)) for a, b in zip(found.tolist(), exact.tolist(), strict=True)]
        return {"recall": sum(shared) / (K * len(asked)), "probes": index.probes}

    def theirs() -> dict[str, Any]:
        files = (values, place / "asked.npy", place / "exact.npy")
        return peers.measured("bench.vectors.faiss_ivf", *files, index.lists, RECALL)

    def all_of_them() -> None:
        dataset.nearest(asked, "emb", k=K)

    records += alternate(SEARCH, {JINX: ours, EXACT: all_of_them, FAISS: theirs}, count=queries, rounds=rounds)
    for record in records:
        if "made" in record and record["round"] == 0:
            records.append({"case": MAKE, "contestant": FAISS, "round": 0, "count": 1, **record.pop("made")})
            break
    return records


def made(count: int, width: int, queries: int) -> tuple[Any, Any]:
    """Vectors of float16 around random points, and queries around the same points."""
    random = np.random.Generator(np.random.PCG64(7))
    points = random.standard_normal((max(count // _AROUND, 1), width), dtype=np.float32)

    def around(rows: int) -> Any:
        noise = random.standard_normal((rows, width), dtype=np.float32)
        return points[random.integers(0, len(points), rows)] + _SPREAD * noise

    vectors = np.empty((count, width), np.float16)
    for start in range(0, count, 8192):
        vectors[start : start + 8192] = around(min(8192, count - start))
    return vectors, around(queries)


def told(records: list[Record]) -> list[str]:
    """What the search of each contestant found, in words."""
    lines = list[str]()
    for record in records:
        if record["case"] == SEARCH and record["round"] == 0 and "recall" in record:
            lines.append(
                f"{record['contestant']}: {record['recall']:.1%} of the exact neighbours, {record['probes']} lists."
            )
        if "said" in record:
            size = record["size"] / 1e6
            lines.append(f"The index of {record['lists']:,} lists says {record['said']:.1%} and has {size:,.0f} MB.")
    return lines


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="bench.vectors.indexed")
    parser.add_argument("--vectors", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        records = run(Path(directory), given.vectors, given.width, given.queries, given.rounds)
    for record in records:
        if record["case"] == MAKE:
            print(MAKE, record["contestant"], f"{record['wall']:.1f} s wall {record['cpu']:.1f} s CPU")
    print("\n".join(told(records)))


if __name__ == "__main__":
    main()
