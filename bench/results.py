"""What was measured: records, and the medians and ratios over them."""

import json
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Results:
    """All records of a run.

    A record has the case, the system and the round; then either wall, cpu, samples, ... or `unsupported` or
    `failed` with a reason.
    """

    about: dict[str, Any] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def of(self, case: str, peer: str) -> list[dict[str, Any]]:
        """The records with figures, in order of rounds."""
        return [r for r in self.records if r["case"] == case and r["peer"] == peer and "wall" in r]

    def reason(self, case: str, peer: str) -> tuple[str, str] | None:
        """("failed" or "unsupported", why) when a system has no figure."""
        for record in self.records:
            if record["case"] == case and record["peer"] == peer:
                for kind in ("failed", "unsupported"):
                    if kind in record:
                        return kind, record[kind]
        return None

    def seconds(self, case: str, peer: str, basis: str) -> float | None:
        """Median seconds a sample."""
        values = [record[basis] / record["samples"] for record in self.of(case, peer) if record["samples"]]
        return statistics.median(values) if values else None

    def figure(self, case: str, peer: str, name: str) -> float | None:
        """The median of a figure that is given as it is, such as bytes."""
        values = [record[name] for record in self.of(case, peer) if name in record]
        return statistics.median(values) if values else None

    def ratio(self, case: str, peer: str, against: str, basis: str) -> float | None:
        """How many times as fast as another system: the median over the rounds."""
        other = {r["round"]: r[basis] / r["samples"] for r in self.of(case, against) if r["samples"]}
        values = [
            other[r["round"]] * r["samples"] / r[basis]
            for r in self.of(case, peer)
            if r["round"] in other and r["samples"] and r[basis]
        ]
        return statistics.median(values) if values else None

    def capped(self, case: str, peer: str) -> bool:
        """Whether the time ran out in any round."""
        return any(record["capped"] for record in self.of(case, peer))

    def cases(self) -> list[str]:
        """Names in the order of measuring."""
        return _unique(record["case"] for record in self.records)

    def peers(self) -> list[str]:
        """Names in the order of measuring."""
        return _unique(record["peer"] for record in self.records)

    def dump(self, path: Path) -> None:
        """Write everything, a record a line."""
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(record) for record in self.records)
        head = json.dumps({"about": self.about, "wrong": self.wrong}, indent=1)
        path.write_text(f'{head[:-2]},\n "records": [\n{lines}\n ]\n}}\n')

    @classmethod
    def load(cls, path: Path) -> "Results":
        """Read what `dump` wrote."""
        return cls(**json.loads(path.read_text()))


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
