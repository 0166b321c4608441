"""A run: environments, data, stores, and the rounds in which systems take turns."""

import datetime as dt
import hashlib
import inspect
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import data, environments, peers, runner
from bench.cases import Case
from bench.peers.peer import Peer
from bench.results import Results
from bench.runner import Settings
from bench.system import Failure, System


@dataclass
class Campaign:
    """Where things stand and how long they may take."""

    root: Path
    samples: dict[str, int]
    settings: Settings
    fresh: bool = False
    limits: bool = False
    note: str = ""
    paper_data: list[Path] = field(default_factory=list)
    results: Results = field(default_factory=Results)
    _written: set[Path] = field(default_factory=set)
    _broken: dict[Path, str] = field(default_factory=dict)

    def run(
        self, chosen: list[Peer], cases: list[Case], repeat: int, after: Callable[[Results], None] | None = None
    ) -> Results:
        """Measure every case with every system, `repeat` times, alternately; `after` gets the records so far."""
        systems, missing = self._environments(chosen)
        # The limits are measured over JPEG data, whatever is read.
        kinds = {case.data for case in cases} | ({"jpeg"} if self.limits else set())
        sources = {kind: self._source(kind) for kind in sorted(kinds)}
        self._describe(systems, sources)
        if self.limits:
            self._measure_limits(sources["jpeg"])
        for case in cases:
            source = sources[case.data]
            for peer in chosen:
                if peer.name in missing and _takes_part(peer, case):
                    self._note(case, peer, 0, {"failed": f"not installed: {missing[peer.name]}"})
            ready = [
                system for system in systems if _takes_part(system.peer, case) and self._ready(system, case, source)
            ]
            for number in range(repeat):
                turn = number % len(ready) if ready else 0
                for system in ready[turn:] + ready[:turn]:
                    if number == 0 or self._worth_repeating(case, system.peer):
                        self._measure(system, case, source, number)
            self._compare(case)
            if after is not None:
                after(self.results)
        for system in systems:
            system.close()
        return self.results

    def _worth_repeating(self, case: Case, peer: Peer) -> bool:
        """Neither failed nor cut off."""
        return not self.results.reason(case.name, peer.name) and not self.results.capped(case.name, peer.name)

    def _source(self, kind: str) -> data.Source:
        if kind == "paper" and self.paper_data:
            return data.take(self.root, self.paper_data)
        return data.make(self.root, kind, self.samples[kind])

    def _measure_limits(self, source: data.Source) -> None:
        ref = System(peers.every()["ref"], environments.python_of("ref"))
        store = self._store(ref, source)
        if not self._stands(ref, store):
            runner.write(ref, source, store, self.settings)
            self._mark(ref, store)
        ref.close()
        command = [ref.python, "-m", "bench.limits", store]
        here = {**os.environ, "PYTHONPATH": str(environments.ROOT)}
        done = subprocess.run(command, env=here, capture_output=True, text=True, check=True)
        self.results.about["limits"] = json.loads(done.stdout)
        _say(done.stdout.strip())

    def _environments(self, chosen: list[Peer]) -> tuple[list[System], dict[str, str]]:
        systems: list[System] = []
        missing: dict[str, str] = {}
        for peer in chosen:
            try:
                systems.append(System(peer, environments.python_of(peer.environment)))
            except environments.InstallError as error:
                missing[peer.name] = str(error)
                _say(f"{peer.name}: not installed: {error}")
        return systems, missing

    def _ready(self, system: System, case: Case, source: data.Source) -> bool:
        """Have the store that a reading case needs."""
        if case.kind == "write":
            return True
        out = self._store(system, source)
        reason = self._broken.get(out)
        if reason is None and not self._stands(system, out):
            _say(f"{system.store}: writing {source.samples} samples")
            out.with_suffix(".done").unlink(missing_ok=True)
            own = system.peer.name == system.store
            owner = _owner(system)
            writer = system if own else System(owner, environments.python_of(owner.environment))
            try:
                runner.write(writer, source, out, self.settings)
                self._mark(system, out)
            except Failure as failure:
                reason = self._broken[out] = str(failure)
            finally:
                if writer is not system:
                    writer.close()
        if reason is not None:
            self._note(case, system.peer, 0, {"failed": f"could not be written: {reason}"})
        return reason is None

    def _measure(self, system: System, case: Case, source: data.Source, number: int) -> None:
        try:
            if case.kind == "write":
                record = self._measure_write(system, case, source, number)
            else:
                out = self._store(system, source)
                record = runner.measure(system, case, source, out, self.settings)
        except Failure as failure:
            record = {"failed": str(failure)}
        self._note(case, system.peer, number, record)

    def _measure_write(self, system: System, case: Case, source: data.Source, number: int) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(dir=source.directory, prefix="write-") as directory:
            out = Path(directory) / "out"
            out.mkdir()
            record = runner.measure(system, case, source, out, self.settings)
            if number == 0 and "wall" in record and not record["capped"]:
                runner.check(system, source, out, self.settings)
                store = self._store(system, source)
                if not self._stands(system, store):
                    shutil.rmtree(store, ignore_errors=True)
                    store.parent.mkdir(exist_ok=True)
                    out.rename(store)
                    self._mark(system, store)
        return record

    def _note(self, case: Case, peer: Peer, number: int, record: dict[str, Any]) -> None:
        if "failed" in record:  # no home directory appears in a report
            record = {"failed": record["failed"].replace(str(Path.home()), "~")}
        self.results.records.append({"case": case.name, "peer": peer.name, "round": number, **record})
        text = record.get("failed") or record.get("unsupported")
        if text:
            _say(f"{case.name}: {peer.name}: {text}")
        elif record["samples"]:
            wall, cpu = (record[basis] / record["samples"] * 1e6 for basis in ("wall", "cpu"))
            _say(f"{case.name}: {peer.name}: {wall:.2f} us wall, {cpu:.2f} us CPU{' *' if record['capped'] else ''}")

    def _compare(self, case: Case) -> None:
        """All systems that finished must have read the same."""
        if case.kind not in ("read", "paper"):
            return
        seen: dict[tuple[int, int], list[str]] = {}
        for record in self.results.records:
            if (
                record["case"] == case.name
                and "wall" in record
                and not record["capped"]
                and case.kind in ("read", "paper")
            ):
                key = (record["checksum"], record["samples"] // record["passes"])
                seen.setdefault(key, []).append(record["peer"])
        if len(seen) > 1:
            groups = " / ".join(f"{', '.join(sorted(set(names)))}: {key}" for key, names in seen.items())
            self.results.wrong.append(f"{case.name}: {groups}")
            _say(f"DIFFERENT: {case.name}: {groups}")

    def _store(self, system: System, source: data.Source) -> Path:
        return source.directory / "stores" / system.store

    def _stands(self, system: System, out: Path) -> bool:
        mark = out.with_suffix(".done")
        if self.fresh and out not in self._written:
            return False
        return out.exists() and mark.exists() and mark.read_text() == _fingerprint(system)

    def _mark(self, system: System, out: Path) -> None:
        out.with_suffix(".done").write_text(_fingerprint(system))
        self._written.add(out)

    def _describe(self, systems: list[System], sources: dict[str, data.Source]) -> None:
        versions = {
            system.peer.name: environments.versions(system.python, system.peer.distributions)
            for system in systems
            if system.peer.distributions
        }
        run = {
            "command": "python -m bench.run " + " ".join(sys.argv[1:]),
            "commit": commit(),
            "data": sorted(sources),
            "load": round(os.getloadavg()[0], 1),
            "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        }
        self.results.about = {
            "runs": [run],
            "note": self.note,
            "machine": machine(),
            "versions": versions,
            "data": {kind: data.described(source) for kind, source in sources.items()},
            "settings": {"reads": self.settings.reads, "cap": self.settings.cap},
        }


def machine() -> dict[str, Any]:
    """What it was measured on."""
    model = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    memory = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / (1 << 20), 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []


def commit() -> str:
    """What is measured."""
    done = subprocess.run(
        ["git", "-C", environments.ROOT, "rev-parse", "--short=12", "HEAD"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def _takes_part(peer: Peer, case: Case) -> bool:
    name = case.name.removeprefix("pixels_")
    if case.kind == "write" and peer.store:
        return False
    return case.data in peer.data and (not peer.only or name in peer.only)


def _owner(system: System) -> Peer:
    """The peer that writes the store this one reads."""
    return peers.every()[system.store]


def _fingerprint(system: System) -> str:
    """Changes when the writer does: its source here, its pinned environment, and for JINX the built module."""
    owner = _owner(system)
    parts = [inspect.getsource(type(owner)), str(environments.python_of(owner.environment))]
    if not owner.environment:
        parts += [f"{path.stat().st_mtime_ns}" for path in (environments.ROOT / "python" / "jinx").glob("*.so")]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
