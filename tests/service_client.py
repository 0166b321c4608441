"""A client of the service, and data for it."""

import http.client
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import jinx

TOKEN = "a-token-for-tests-only-0123456789"


class Client:
    """Sends requests with the token.

    Args:
        url: The address of the service, such as `http://127.0.0.1:8000/v1`.
        token: The token.
    """

    def __init__(self, url: str, token: str = TOKEN) -> None:
        self.url, self.token = url, token

    def raw(
        self, method: str, path: str, *, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        given = {"Authorization": f"Bearer {self.token}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        try:
            # A body that is too long is answered before all of it is sent.
            with suppress(BrokenPipeError):
                connection.request(method, path, body=body, headers={k: v for k, v in given.items() if v})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"Content_Type": "application/json"}
        status, _, answer = self.raw(method, f"/v1{path}", body=data, **kind, **headers)
        return status, json.loads(answer) if answer else None

    def get(self, path: str) -> Any:
        status, answer = self.ask("GET", path)
        assert status == 200, answer
        return answer

    def plan(self, recipe: Any, samples: int = 0) -> str:
        status, answer = self.ask("POST", "/plans", {"recipe": recipe, "samples": samples})
        assert status == 201, answer
        return answer["id"]

    def start(self, recipe: Any, **headers: str) -> str:
        status, answer = self.ask("POST", "/jobs", {"plan": self.plan(recipe)}, **headers)
        assert status == 202, answer
        return answer["id"]

    def ended(self, job: str, seconds: float = 240) -> dict[str, Any]:
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            facts = self.get(f"/jobs/{quote(job)}")
            if facts["state"] in {"succeeded", "failed", "cancelled"}:
                return facts
            time.sleep(0.05)
        raise AssertionError(f"{job} is {facts['state']} after {seconds} s")


def recipe(out: str, *steps: Any, source: str = "data/in.jinx", **export: Any) -> dict[str, Any]:
    return {"dataset": {"path": source}, "process": list(steps), "export": {"path": f"results/{out}", **export}}


LONG = {"text_length_filter": {"min_len": 100}}


def made_roots(folder: Path, samples: int = 300) -> tuple[Path, Path]:
    """A directory with a dataset, and one for outputs."""
    data, results = folder / "data", folder / "results"
    data.mkdir(parents=True)
    results.mkdir()
    with jinx.Writer(data / "in.jinx") as writer:
        for i in range(samples):
            text = ("word " * (i % 40)) + f"sample {i} http://x.test/{i}"
            writer.write({"id": i, "text": text, "score": i / samples, "picture": bytes([i % 256]) * 10})
    return data, results
