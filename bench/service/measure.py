"""How fast the service answers reads while a job uses all cores, and how soon a job's first event comes."""

import asyncio
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import jinx
from jinx_pipeline.service.jobs import JobLimits
from jinx_pipeline.service.server import Server
from jinx_pipeline.service.workplace import Workplace

_LETTERS = str.maketrans("0123456789", "abcdefghij")
TOKEN = "a-token-for-the-benchmark-only"  # noqa: S105 - of a server that ends with it


async def read_all(url: str, paths: list[str], seconds: float, clients: int) -> list[float]:
    """The durations of all requests that some clients make, each over one connection, in milliseconds."""
    parts = urlsplit(url)
    durations: list[float] = []
    until = time.perf_counter() + seconds

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        step = number
        while time.perf_counter() < until:
            started = time.perf_counter()
            path = paths[step % len(paths)]
            head = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
            writer.write(head.encode())
            answer = await reader.readuntil(b"\r\n\r\n")
            if not answer.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(answer.decode())
            length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
            durations.append(1000 * (time.perf_counter() - started))
            step += 1
        writer.close()

    await asyncio.gather(*(client(number) for number in range(clients)))
    return durations


def ask(url: str, method: str, path: str, body: Any) -> Any:
    """The answer to one request."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = Request(f"{url.removesuffix('/v1')}{path}", json.dumps(body).encode(), headers, method=method)  # noqa: S310
    with urlopen(request, timeout=60) as answer:  # noqa: S310 - our own server
        return json.loads(answer.read())


def first_event_of(url: str, job: str) -> float:
    """When the first event of a job reaches a client."""
    address = f"{url.removesuffix('/v1')}/v1/jobs/{job}/events"
    request = Request(address, headers={"Authorization": f"Bearer {TOKEN}"})  # noqa: S310
    with urlopen(request, timeout=60) as stream:  # noqa: S310 - our own server
        while not stream.readline().startswith(b"event:"):
            pass
        return time.perf_counter()


def make(folder: Path, samples: int) -> tuple[Path, Path]:
    """A directory with a dataset, and one for outputs."""
    data, results = folder / "data", folder / "results"
    data.mkdir()
    results.mkdir()
    with jinx.Writer(data / "in.jinx") as writer:
        for number in range(samples):
            # No words repeat, so that the filters keep all samples and every step has work.
            numbers = " ".join(str((number * 7919 + at * 104729) % 999983) for at in range(120))
            text = numbers.translate(_LETTERS)
            writer.write({"id": number, "text": text, "score": number / samples})
    return data, results


def measure(seconds: float, clients: int, samples: int) -> dict[str, Any]:
    """The figures, with and without a job."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, results = make(folder, samples)
        place = Workplace.open(
            folder / "state", {"data": data}, {"results": results}, limits=JobLimits(workers=os.cpu_count() or 1)
        )
        server = Server(place, TOKEN)
        thread = server.start()
        try:
            steps = ["whitespace_normalization_mapper", {"word_repetition_filter": {"rep_len": 3}}] * 30
            recipe = {"dataset": "data/in.jinx", "process": steps, "export": {"path": "results/out.jinx"}}
            plan = place.plans.make(recipe, samples=0)
            paths = ["/v1/operators/text_length_filter", "/v1/jobs?count=1"]
            idle = asyncio.run(read_all(server.url, paths, seconds, clients))
            started = time.perf_counter()
            posted = ask(server.url, "POST", "/v1/jobs", {"plan": plan.id})
            first_event = 1000 * (first_event_of(server.url, posted["id"]) - started)
            job = place.jobs.get(posted["id"])
            while not job.events_path.exists() and place.jobs.state(job) != "failed":
                time.sleep(0.01)
            paths.append(f"/v1/jobs/{job.id}")
            busy = asyncio.run(read_all(server.url, paths, seconds, clients))
            is_busy = place.jobs.state(job) == "running"
            place.jobs.cancel(job)
            while place.jobs.state(job) == "cancelling":
                time.sleep(0.05)
        finally:
            server.stop()
            thread.join()
    figures = {"idle": _figures(idle, seconds), "with a job": _figures(busy, seconds)}
    return {**figures, "first event ms": round(first_event, 1), "the job ran throughout": is_busy}


def _figures(durations: list[float], seconds: float) -> dict[str, float]:
    p99 = statistics.quantiles(durations, n=100)[98]
    return {
        "requests/s": round(len(durations) / seconds, 1),
        "p50 ms": round(statistics.median(durations), 2),
        "p99 ms": round(p99, 2),
    }
