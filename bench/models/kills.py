"""A run with a language model whose worker and whose driver are killed: what is asked twice.

python -m bench.models.kills
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from bench.environments import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from pipeline.llm.model_server import ModelServer, Said, digest, good, serving

_UNDER_WAY = 20
_LATENCY = 0.05
_WAIT_SECONDS = 120.0


def kills(folder: Path, count: int) -> dict[str, int]:
    """How a run went on after a worker was killed at a fifth of the requests, and the driver at half of them.

    Args:
        folder: An empty directory.
        count: The number of samples, each with a request.

    Returns:
        The number of requests, how many were answered and kept before each kill, how many of these were sent again, and
        how many requests were sent in all: those under way at a kill are sent again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with serving(lambda *asked: Said(good(*asked).text, seconds=_LATENCY)) as server:
        recipe = _recipe(folder, server, count)
        command = [sys.executable, "-m", "jinx_pipeline", "run", str(recipe)]
        kept: list[tuple[int, set[str]]] = []
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
            try:
                _wait_for(lambda: len(server.bodies) > count // 5)
                workers = [child for child in psutil.Process(driver.pid).children(recursive=True) if _is_worker(child)]
                os.kill(workers[0].pid, signal.SIGKILL)
                kept.append((len(server.bodies), _kept(folder)))
                _wait_for(lambda: len(server.bodies) > count // 2)
            finally:
                driver.kill()
        _wait_for(lambda: not any(_is_alive(worker) for worker in workers))
        kept.append((len(server.bodies), _kept(folder)))
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        asked = [digest(body) for body in server.bodies]
    again = [sum(key in keys for key in asked[before:]) for before, keys in kept]
    return {
        "requests": count,
        "answered_before_worker": len(kept[0][1]),
        "answered_before_driver": len(kept[1][1]),
        "asked_twice": sum(again),
        "different": len(set(asked)),
        "sent": len(asked),
    }


def _recipe(folder: Path, server: ModelServer, count: int) -> Path:
    (folder / "in.jsonl").write_text("".join(json.dumps({"text": f"text {n}"}) + "\n" for n in range(count)))
    data: dict[str, Any] = {
        "dataset": {"path": str(folder / "in.jsonl")},
        "models": {"judge": {"kind": "openai", "url": server.url, "model": "m", "concurrency": _UNDER_WAY}},
        "process": [{"llm_quality_score_filter": {"api_or_hf_model": "judge", "min_score": 0}}],
        "export": {"path": str(folder / "out.jinx")},
        "workers": 2,
        "block_rows": 100,
        "work_dir": str(folder / "work"),
    }
    file = folder / "recipe.yaml"
    file.write_text(json.dumps(data))
    return file


def _kept(folder: Path) -> set[str]:
    """The digests of requests whose answers are kept, of complete lines."""
    data = b"".join(path.read_bytes() for path in (folder / "work" / "answers").glob("*.jsonl"))
    return {json.loads(line)["key"] for line in data.splitlines(keepends=True) if line.endswith(b"\n")}


def _is_worker(process: psutil.Process) -> bool:
    return process.name() == "jinx-worker"


def _is_alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def _wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + _WAIT_SECONDS
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError("the run does not go on")
        time.sleep(0.02)


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(kills(Path(folder), 2000)))


if __name__ == "__main__":
    main()
