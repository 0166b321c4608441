"""The client for language models against a local server with a latency: share of the ideal, CPU per request.

    python -m bench.models.llm_client
    python -m bench.models.llm_client --requests 4000 --under-way 100

The ideal is a client that always has as many requests under way as the server may get, and takes no time itself; of an
unreliable service it is simulated. The server is another process; on two cores it has one of them. Of the unreliable
service, 10 % of the answers are 429, and 5 % never come, with a time-out of twice the latency. `aiohttp` is a loop over
the same library that does nothing else: no retries, no budget, no files.
"""

import argparse
import asyncio
import heapq
import json
import math
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from jinx_pipeline.llm.client import Client, Reply, Request
from jinx_pipeline.llm.service import Service, Settings, chat_url

LATENCY = 0.05
ANSWER = {
    "choices": [
        {"message": {"role": "assistant", "content": '{"score": 4, "reason": "fine"}'}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 500, "completion_tokens": 20},
}
REFUSED, SILENT = 0.1, 0.05
SIMULATED = 20
Ask = Callable[[str, int, int, str, float], int]


class Load(NamedTuple):
    """What is asked.

    Attributes:
        count: The number of requests.
        under_way: How many are under way at once.
        latency: The seconds until the server answers.
    """

    count: int
    under_way: int
    latency: float


class Connection(asyncio.Protocol):
    """Answers each request after the latency; some not, if the text of a request says so."""

    latency = LATENCY

    def __init__(self) -> None:
        self.data = b""
        body = json.dumps(ANSWER).encode()
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer a request when it is complete."""
        self.data += data
        head, end, body = self.data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split()[0]) if end else 1
        if not end or len(body) < length:
            return
        self.data = body[length:]
        chance = random.random() if b"unreliable" in body else 1.0
        if chance < REFUSED:
            self.write(b"HTTP/1.1 429 X\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")
        elif chance >= REFUSED + SILENT:
            asyncio.get_running_loop().call_later(Connection.latency, self.write, self.answer)

    def write(self, data: bytes) -> None:
        """Write an answer if the client still waits."""
        if isinstance(self.transport, asyncio.WriteTransport) and not self.transport.is_closing():
            self.transport.write(data)


async def serve() -> None:
    """Serve on a free port, which is printed."""
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def requests(count: int, kind: str) -> list[Request]:
    """Different requests of 2 kB."""
    text = "word " * 400
    return [
        Request({"model": "m", "messages": [{"role": "user", "content": f"{kind} {number} {text}"}]})
        for number in range(count)
    ]


def ours(url: str, count: int, under_way: int, kind: str, latency: float) -> int:
    """Ask with the client, whose answers are kept; returns how many were answered."""
    seconds = 2 * latency if kind == "unreliable" else 60.0
    service = Service("m", chat_url(url), Settings(concurrency=under_way, seconds=seconds, tries=20))
    with tempfile.TemporaryDirectory() as folder:
        replies = Client(Path(folder)).ask_all(service, requests(count, kind))
    return sum(isinstance(reply, Reply) for reply in replies)


def plain(url: str, count: int, under_way: int, kind: str, latency: float) -> int:
    """Ask with aiohttp alone."""
    del latency
    import aiohttp

    async def ask(session: aiohttp.ClientSession, bodies: list[bytes]) -> int:
        answered = 0
        while bodies:
            async with session.post(chat_url(url), data=bodies.pop()) as response:
                answered += "choices" in json.loads(await response.read())
        return answered

    async def ask_all() -> int:
        bodies = [request.data for request in requests(count, kind)]
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            return sum(await asyncio.gather(*(ask(session, bodies) for _ in range(under_way))))

    return asyncio.run(ask_all())


def ideal_seconds(load: Load, kind: str) -> float:
    """The time of a client that takes none itself; of the unreliable service the mean of some simulated runs.

    A refused request is sent again at once, and one that timed out at once after its time, before new ones. Nothing is
    asked twice as long as the first may be answered.
    """
    if kind != "unreliable":
        return math.ceil(load.count / load.under_way) * load.latency
    return fmean(_simulated(load, random.Random(seed)) for seed in range(SIMULATED))


def _simulated(load: Load, rng: random.Random) -> float:
    """The time of one run."""
    free = [0.0] * load.under_way  # when each request under way has ended, and the next one may begin
    for _ in range(load.count):
        ends = heapq.heappop(free)
        while (chance := rng.random()) < REFUSED + SILENT:
            ends += 0.0 if chance < REFUSED else 2 * load.latency
        heapq.heappush(free, ends + load.latency)
    return max(free)


def measured(ask: Ask, url: str, load: Load, kind: str) -> dict[str, object]:
    """Wall and CPU time of asking."""
    count, under_way, latency = load
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    answered = ask(url, count, under_way, kind, latency)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ideal = ideal_seconds(load, kind)
    return {
        "client": "ours" if ask is ours else "aiohttp",
        "service": kind,
        "answered": answered,
        "seconds": round(wall, 3),
        "requests": count,
        "latency": latency,
        "ideal_seconds": round(ideal, 3),
        "share_of_ideal": round(ideal / wall, 3),
        "cpu_ms": round(cpu / count * 1000, 3),
    }


def rounds(load: Load, number: int) -> list[dict[str, object]]:
    """Each client and service in turn, several times.

    Args:
        load: The requests, how many are under way at once, and the latency of the server.
        number: The number of rounds.
    """
    command = [sys.executable, "-m", "bench.models.llm_client", "--serve", "--latency", str(load.latency)]
    found: list[dict[str, object]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = f"http://127.0.0.1:{server.stdout.readline().strip() if server.stdout else ''}/v1"
            for _ in range(number):
                for ask, kind in ((plain, "reliable"), (ours, "reliable"), (ours, "unreliable")):
                    found.append(measured(ask, url, load, kind))
                    print(json.dumps(found[-1]), file=sys.stderr, flush=True)
        finally:
            server.terminate()
    return found


def main() -> None:
    """Measure, and print a line of JSON for each measurement."""
    parser = argparse.ArgumentParser(prog="bench.models.llm_client")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--under-way", type=int, default=200)
    parser.add_argument("--latency", type=float, default=LATENCY, help="seconds until the server answers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        Connection.latency = given.latency
        asyncio.run(serve())
    else:
        rounds(Load(given.requests, given.under_way, given.latency), given.rounds)


if __name__ == "__main__":
    main()
