"""A local server with the OpenAI protocol, whose answers a test scripts: good, bad, hostile, slow, refused, huge."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any


@dataclass
class Said:
    """What the server says to a request.

    Attributes:
        text: The content of the message.
        status: The HTTP status; other than 200, `text` is the body.
        seconds: How long it takes.
        headers: More headers.
        finish: Why the message ends.
        body: The whole body, in place of a completion.
        hangs_up: The connection is closed in the middle of the answer.
    """

    text: Any = ""
    status: int = 200
    seconds: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)
    finish: str = "stop"
    body: bytes | None = None
    hangs_up: bool = False


Script = Callable[[dict[str, Any], int], Said]


class ModelServer:
    """The server.

    Attributes:
        script: Says what is said to a request, from its body and how often this body has come, from 0.
        bodies: The bodies of all requests, in order.
        keys: The values of the header `Authorization`.
        under_way: The requests under way now.
        most: The most requests that were under way at once.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.most = self.under_way = 0
        self._seen: Counter[bytes] = Counter()
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
                data = await reader.readexactly(int(headers.get("content-length", 0)))
                self.keys.add(headers.get("authorization", ""))
                self.under_way += 1
                self.most = max(self.most, self.under_way)
                try:
                    await self._answer(data, writer)
                finally:
                    self.under_way -= 1
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        body = json.loads(data)
        said = self.script(body, self._seen[data])
        self._seen[data] += 1
        self.bodies.append(body)
        if said.seconds:
            await asyncio.sleep(said.seconds)
        if said.body is not None:
            content = said.body
        elif said.status == 200:
            content = json.dumps(completion(said.text, said.finish)).encode()
        else:
            content = str(said.text).encode()
        extra = "".join(f"{name}: {value}\r\n" for name, value in said.headers.items())
        head = f"HTTP/1.1 {said.status} X\r\nContent-Length: {len(content)}\r\n{extra}\r\n"
        if said.hangs_up:
            writer.write(head.encode() + content[: len(content) // 2])
            writer.close()
            raise ConnectionResetError
        writer.write(head.encode() + content)
        await writer.drain()


def completion(text: Any, finish: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 100, "completion_tokens": 20}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}


def digest(body: Mapping[str, Any]) -> str:
    """The digest by which the client keeps the answer to a body."""
    data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    return blake2b(data, digest_size=16).hexdigest()


def sample_of(schema: Mapping[str, Any]) -> Any:
    """A value that fits a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object":
        return {name: sample_of(part) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [sample_of(schema["items"])] * max(schema.get("minItems", 1), 1)
    if kind in {"integer", "number"}:
        return schema.get("minimum", 0)
    return {"boolean": True, "null": None}.get(str(kind), "some text")


def good(body: dict[str, Any], times: int = 0) -> Said:
    """The answer of a model that does as it is told."""
    del times
    shape = body.get("response_format", {}).get("json_schema")
    return Said("A good text." if shape is None else json.dumps(sample_of(shape["schema"])))


def in_turn(said: Sequence[Said]) -> Script:
    """Says one thing after another, whatever is asked; the last again and again."""
    remaining = list(said)
    return lambda *_: remaining.pop(0) if len(remaining) > 1 else remaining[0]


@contextmanager
def serving(script: Script = good) -> Iterator[ModelServer]:
    """The server, in a thread."""
    made, loop, ready = ModelServer(script), asyncio.new_event_loop(), threading.Event()

    async def serve(stop: asyncio.Event) -> None:
        server = await asyncio.start_server(made.handle, "127.0.0.1", 0, backlog=1000)
        made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        ready.set()
        await stop.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(stop),), daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield made
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        loop.close()
