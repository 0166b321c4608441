"""Contestants that do the same job take turns, and every run becomes a record."""

import resource
import time
from collections.abc import Callable, Mapping
from typing import Any

Record = dict[str, Any]
Step = Callable[[], Any]


def alternate(
    case: str, contestants: Mapping[str, Step], *, count: int, rounds: int, check: bool = False
) -> list[Record]:
    """The wall and CPU time (with children) of every contestant in every round, for `count` items.

    A step may return a record of its own with the times that another process has measured.

    Raises:
        ValueError: With `check`, where steps return different results.
    """
    records: list[Record] = []
    for number in range(rounds):
        results: dict[str, Any] = {}
        for name, step in contestants.items():
            before, start = cpu(), time.perf_counter()
            result = step()
            times = {"wall": time.perf_counter() - start, "cpu": cpu() - before}
            records.append({"case": case, "contestant": name, "round": number, "count": count, **times})
            if isinstance(result, dict):
                records[-1] |= result
            results[name] = result
            print(_told(records[-1]), flush=True)
        if check and len(set(results.values())) != 1:
            raise ValueError(f"{case}: the results differ: {results}")
    return records


def cpu() -> float:
    """Seconds of CPU time of this process and the children it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _told(record: Record) -> str:
    if "failed" in record:
        return f"{record['case']:32} {record['contestant']:20} {record['failed']}"
    wall, cpu = (record[clock] / record["count"] * 1e6 for clock in ("wall", "cpu"))
    return f"{record['case']:32} {record['contestant']:20} {wall:10.3f} us wall {cpu:10.3f} us CPU"
