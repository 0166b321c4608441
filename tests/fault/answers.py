"""Answers of a store that fails: each takes the place of the answer to a request."""

import time
from collections.abc import Callable
from typing import Any

import bucket

Answer = Callable[[bucket.Handler, bucket.Request], bool]


def status(code: int, name: str) -> Answer:
    def answer(handler: bucket.Handler, request: bucket.Request) -> bool:
        handler.refuse(request, code, name, **({"Retry_After": "0"} if code in {429, 503} else {}))
        return True

    return answer


def stalled(handler: bucket.Handler, request: bucket.Request) -> bool:
    time.sleep(1.5)
    handler.close_connection = True
    return True


def truncated(handler: bucket.Handler, request: bucket.Request) -> bool:
    """Half of the body, then the connection is closed."""
    return partly(handler, request, wait=0)


def short(handler: bucket.Handler, request: bucket.Request) -> bool:
    """Half of the range that the answer names, as if that were all."""
    head, body = whole_answer(handler, request)
    half = body[: len(body) // 2]
    handler.wfile.write(head.replace(b"Content-Length: %d" % len(body), b"Content-Length: %d" % len(half)) + half)
    return True


def stalled_body(handler: bucket.Handler, request: bucket.Request) -> bool:
    return partly(handler, request, wait=1.5)


def partly(handler: bucket.Handler, request: bucket.Request, wait: float) -> bool:
    head, body = whole_answer(handler, request)
    handler.wfile.write(head + body[: len(body) // 2])
    handler.wfile.flush()
    time.sleep(wait)
    handler.close_connection = True
    handler.connection.close()
    return True


def slow(handler: bucket.Handler, request: bucket.Request) -> bool:
    """All of it, in pieces."""
    head, body = whole_answer(handler, request)
    handler.wfile.write(head)
    step = len(body) // 8 + 1
    for start in range(0, len(body), step):
        handler.wfile.write(body[start : start + step])
        handler.wfile.flush()
        time.sleep(0.02)
    return True


def whole_answer(handler: bucket.Handler, request: bucket.Request) -> tuple[bytes, bytes]:
    """The bytes that the answer would have."""
    real = handler.wfile

    class Caught:
        def __init__(self) -> None:
            self.data = b""

        def write(self, data: bytes) -> int:
            self.data += data
            return len(data)

        def flush(self) -> None:
            pass

    caught: Any = Caught()
    handler.wfile = caught
    handler._get(request)
    handler.flush_headers()
    handler.wfile = real
    head, _, body = caught.data.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", body


def another_range(handler: bucket.Handler, request: bucket.Request) -> bool:
    """Bytes from elsewhere, as the answer says."""
    path = handler.path_of(request.key)
    size = path.stat().st_size
    body = path.read_bytes()[1:11]
    tag = handler.tag_of(request.key)
    handler.answer(request, 206, body, ETag=tag, Content_Range=f"bytes 1-10/{size}")
    return True


def whole_object(handler: bucket.Handler, request: bucket.Request) -> bool:
    handler.answer(request, 200, handler.path_of(request.key).read_bytes(), ETag=handler.tag_of(request.key))
    return True


def damaged(handler: bucket.Handler, request: bucket.Request) -> bool:
    """The right number of wrong bytes."""
    head, body = whole_answer(handler, request)
    handler.wfile.write(head + bytes(byte ^ 0x55 for byte in body))
    return True


def endless_redirect(handler: bucket.Handler, request: bucket.Request) -> bool:
    handler.answer(request, 302, b"", Location=handler.path)
    return True


def closed(handler: bucket.Handler, request: bucket.Request) -> bool:
    handler.close_connection = True
    handler.connection.close()
    return True
