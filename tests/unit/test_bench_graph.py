"""The page of bench.graph, made of records."""

from bench.graph.cases import ALONE, CLIPS, DIAMOND, LARGE, PACK, TABLES
from bench.graph.page import page


def record(case, contestant, wall, cpu=1.0, **facts):
    return {"case": case, "contestant": contestant, "round": 0, "count": 1, "wall": wall, "cpu": cpu, **facts}


def test_the_page_shows_each_target_beside_what_was_reached():
    records = [
        record(CLIPS, "jinx", 10.0, memory=90e6),
        record(LARGE, "jinx", 5.0, memory=120e6),
        record(CLIPS, "one task per video", 12.0),
        record(CLIPS, "Ray Data", 25.0),
        record(CLIPS, ALONE, 9.5),
        record(PACK, "jinx", 2.0, bytes=1500e6),
        *(record(case, "jinx", 15.0) for case in TABLES.values()),
        record(DIAMOND, "chain", 9.0, 10.0),
        record(DIAMOND, "diamond", 9.0, 10.2),
    ]
    text = page(
        {
            "command": "python -m bench.graph",
            "time": "now",
            "commit": "0",
            "seconds": 1,
            "load": 0.0,
            "machine": {"cpu": "c", "cores": 2, "memory_gib": 1, "kernel": "6", "python": "3"},
            "versions": {"jinx": "0"},
            "samples": {
                "videos": 4,
                "shortest": 3,
                "longest": 6,
                "large_mb": 60,
                "packed_mb": 50,
                "rows": 9,
                "texts": 9,
            },
            "records": records,
        }
    )
    for line in (
        "| clips: share of the limit of the CPU | >= 0.9 | 0.95 |",
        "| clips: times as fast as Ray Data | >= 2 | 2.50 |",
        "| clips: memory of a worker | <= 300 MB | 120 MB |",
        "| packing, the whole run | >= 600 MB/s | 750 MB/s |",
        "| rows into SQLite, seconds | <= 20 | 15.0 |",
        "| diamond: CPU of the chain | <= 1.05 | 1.020 |",
        "| seven operators | chain | 9.0 | 10.0 |",
    ):
        assert line in text.splitlines()
