"""An object store on this machine that is as slow as a real one, and counts what it sends.

    python -m bench.remote.store DIRECTORY

It serves the files of a directory as the bucket `bench`, by the part of S3's API that readers use, prints its port, and
ends when its standard input does. `GET /counts` says how many requests and bytes it has answered since the last time.
"""

import json
import os
import random
import re
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

# Measured between a machine in a cloud and the store beside it.
FIRST_BYTE, SLOW_FIRST_BYTE, SLOW_PART = 0.020, 0.200, 0.01
BYTES_PER_SECOND = 90e6
BUCKET = "bench"
_STEP = 1 << 20


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body are two packets, and the second would wait 40 ms for the answer to the first.
    disable_nagle_algorithm = True
    root: Path
    requests = 0
    sent = 0
    lock = threading.Lock()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        """The size of an object."""
        self.do_GET()

    def do_GET(self) -> None:
        """An object, a range of one, a list, or the counts."""
        parts = urlsplit(self.path)
        if parts.path == "/counts":
            with _Handler.lock:
                counts = {"requests": _Handler.requests, "bytes": _Handler.sent}
                _Handler.requests = _Handler.sent = 0
            self._text(json.dumps(counts))
            return
        time.sleep(SLOW_FIRST_BYTE if random.random() < SLOW_PART else FIRST_BYTE)
        bucket, _, key = unquote(parts.path)[1:].partition("/")
        if not key:
            self._list(parse_qs(parts.query).get("prefix", [""])[0])
        elif bucket != BUCKET or not (self.root / key).is_file():
            self._count(0)
            self._text("<Error><Code>NoSuchKey</Code></Error>", 404)
        else:
            self._object(self.root / key)

    def _count(self, sent: int) -> None:
        with _Handler.lock:
            _Handler.requests += 1
            _Handler.sent += sent

    def _text(self, text: str, status: int = 200) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _list(self, prefix: str) -> None:
        names = sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file())
        entries = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{(self.root / name).stat().st_size}</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;0&quot;</ETag></Contents>"
            for name in names
            if name.startswith(prefix)
        )
        self._count(0)
        self._text(f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>")

    def _object(self, path: Path) -> None:
        status = path.stat()
        start, end = 0, status.st_size
        asked = re.match(r"bytes=(\d*)-(\d*)$", self.headers.get("Range") or "")
        if asked:
            first, last = asked.groups()
            start = int(first) if first else max(0, end - int(last))
            end = min(end, int(last) + 1) if first and last else end
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{status.st_size}")
        self.send_header("Content-Length", str(end - start))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{status.st_size:x}-{status.st_mtime_ns:x}"')
        self.send_header("Last-Modified", formatdate(status.st_mtime, usegmt=True))
        self.end_headers()
        if self.command == "HEAD":
            self._count(0)
            return
        self._count(end - start)
        self.wfile.flush()
        began, first_byte = time.monotonic(), start
        with path.open("rb") as file:
            while start < end:
                start += os.sendfile(self.connection.fileno(), file.fileno(), start, min(_STEP, end - start))
                time.sleep(max(0.0, (start - first_byte) / BYTES_PER_SECOND - (time.monotonic() - began)))


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A reader that goes away is no error."""


def main() -> None:
    """Serve until standard input ends."""
    handler = type("Handler", (_Handler,), {"root": Path(sys.argv[1])})
    server = _Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
