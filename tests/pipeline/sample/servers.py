"""Local servers for tests: files over HTTP with planted faults, and enough of S3."""

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Files(ThreadingHTTPServer):
    """A server of files.

    Attributes:
        files: The files by path.
        faults: Faults by path, each used once: `cut`: half of the content arrives; a number: this status.
        moved: Redirections by path.
        log: The method, path and range of each request.
        has_tags: Whether answers have an ETag.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[object]] = {}
        self.moved: dict[str, str] = {}
        self.log: list[tuple[str, str, str]] = []
        self.has_tags = True
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients may close their connections."""


class _Handler(BaseHTTPRequestHandler):
    server: Files
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        del format, args

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_PUT(self) -> None:
        self.server.log.append(("PUT", self.path, ""))
        self.server.files[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("ETag", _tag(self.server.files[self.path]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(self, *, with_body: bool) -> None:
        wanted = self.headers.get("Range", "")
        path = self.path.partition("?")[0]
        self.server.log.append((self.command, path, wanted))
        faults = self.server.faults.get(path, [])
        fault = faults.pop(0) if faults else None
        if path in self.server.moved:
            self._empty(302, Location=self.server.moved[path])
        elif isinstance(fault, int):
            self._empty(fault)
        elif path not in self.server.files:
            self._empty(404)
        else:
            self._send(self.server.files[path], wanted, fault, with_body=with_body)

    def _send(self, content: bytes, wanted: str, fault: object, *, with_body: bool) -> None:
        tag = _tag(content)
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted)
        if self.headers.get("If-Match") not in {None, tag}:
            self._empty(412)
            return
        start = int(match[1]) if match and self.headers.get("If-Range", tag) == tag else 0
        if match and start >= len(content) and content:
            self._empty(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if self.server.has_tags:
            self.send_header("ETag", tag)
        self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT" if self.server.has_tags else "")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if with_body and fault == "cut":
            self.wfile.write(content[start : (start + len(content)) // 2])
            self.wfile.flush()
            self.connection.close()
            self.close_connection = True
        elif with_body:
            self.wfile.write(content[start:])

    def _empty(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


@contextmanager
def running() -> Iterator[Files]:
    """A server in a thread."""
    server = Files()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
