"""MinHash of many documents by the engine: wall and CPU time, and the memory of all its processes together."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.environments import cache
from bench.operators.recipe_texts import vocabulary

_AT_ONCE = 20_000
_PAGE = os.sysconf("SC_PAGE_SIZE")


def write(path: Path, count: int) -> None:
    """About 1 kB of text each; every tenth nearly repeats an earlier one."""
    import jinx

    rng = random.Random(3)
    words = vocabulary(rng)
    sentences = [" ".join(rng.choices(words, k=8)).capitalize() + "." for _ in range(50_000)]
    # The sentences of each document are drawn again from its number where another repeats it.
    with jinx.Writer(path) as writer:
        for first in range(0, count, _AT_ONCE):
            writer.write_many(
                {"id": at, "text": _document(at, sentences)} for at in range(first, min(first + _AT_ONCE, count))
            )


def _document(at: int, sentences: list[str]) -> str:
    is_copy = (at + 1) % 10 == 0
    rng = random.Random(at // 2 if is_copy else at)
    chosen = rng.choices(sentences, k=18)
    if is_copy:
        chosen[at % 18] = sentences[at % len(sentences)]
    return " ".join(chosen)


def dataset(count: int) -> Path:
    """The documents, written at first need."""
    path = cache() / "data" / f"documents-{count}.jinx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, count)
    return path


def measure(count: int) -> dict[str, Any]:
    """Run the recipe in a process of its own and watch it."""
    path = dataset(count)
    with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
        command = [sys.executable, "-m", "bench.operators.million", "run", str(path), f"{temporary}/out.jinx"]
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        peak = 0
        while process.poll() is None:
            peak = max(peak, memory(process.pid))
            time.sleep(0.1)
        output = process.stdout.read() if process.stdout else ""
        if process.returncode:
            raise RuntimeError(f"the run ended with {process.returncode}: {output}")
        found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return {**found, "wall": time.perf_counter() - started, "memory": peak, "bytes": path.stat().st_size}


def memory(pid: int) -> int:
    """Bytes of a process and all that it has started, without pages of files, which the kernel may drop."""
    return sum(_anonymous(process) for process in _family(pid))


def _family(pid: int) -> list[int]:
    found = [pid]
    for process in found:
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def _anonymous(pid: int) -> int:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    fields = dict(line.split(":", 1) for line in rollup.splitlines()[1:])
    return 1024 * int(fields.get("Pss_Anon", fields.get("Anonymous", "0 kB")).split()[0])


def run(source: str, out: str) -> dict[str, Any]:
    """The recipe, on all cores."""
    import resource

    import jinx_pipeline as jp

    result = jp.Dataset.load(source).process(["document_minhash_deduplicator"]).export(out, kind="view", workers=2)
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    (operator,) = result.operators
    return {
        "cpu": sum(times.ru_utime + times.ru_stime for times in usage),
        "documents": operator.rows_in,
        "kept": operator.rows_out,
    }


def main() -> None:
    """Command line."""
    if sys.argv[1] == "run":
        print(json.dumps(run(sys.argv[2], sys.argv[3])))
    else:
        print(json.dumps(measure(int(sys.argv[1]))))


if __name__ == "__main__":
    main()
