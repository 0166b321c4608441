"""An S3 server over a directory of this machine, which counts requests, checks signatures and fails on demand."""

import hashlib
import hmac
import itertools
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

KEY, SECRET, REGION = "test-key", "test-secret-0123456789", "eu-west-9"
_NUMBERS = itertools.count()
_RANGE = re.compile(r"bytes=(\d*)-(\d*)$")


@dataclass
class Request:
    """One request: what was asked for, and how many bytes were sent."""

    method: str
    key: str
    range: tuple[int, int] | None = None
    sent: int = 0
    status: int = 0


Fault = Callable[["Handler", Request], bool]


@dataclass
class Bucket:
    """The server.

    Attributes:
        directory: The bucket: files by their keys.
        address: Host and port.
        name: The name of the bucket, which no other one has: what was read from it is not that of another.
        requests: All requests, in the order of their ends.
        faults: Each is asked before a request is answered, and returns True if it has answered.
        delay: Seconds before each answer.
        list_delay: Seconds by which lists are late: new objects are missing, and removed ones are still there.
        is_open: Unsigned requests are answered too.
        close: Stops the server; connections are refused.
        open: Starts it again.
    """

    directory: Path
    address: str = ""
    name: str = ""
    requests: list[Request] = field(default_factory=list[Request])
    faults: list[Fault] = field(default_factory=list[Fault])
    delay: float = 0.0
    list_delay: float = 0.0
    is_open: bool = False
    # For clients whose forked processes would share a connection.
    closes_connections: bool = False
    close: Callable[[], None] = lambda: None
    open: Callable[[], None] = lambda: None
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict[str, dict[int, bytes]])
    tags: dict[str, str] = field(default_factory=dict[str, str])
    metadata: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    lock: threading.Lock = field(default_factory=threading.Lock)
    changes: list[tuple[float, str, str | None]] = field(default_factory=list[tuple[float, str, str | None]])

    @property
    def environment(self) -> dict[str, str]:
        """Variables for readers of the bucket."""
        return {
            "AWS_ENDPOINT_URL": f"http://{self.address}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION,
        }

    def url(self, key: str = "") -> str:
        """The URL of a key."""
        return f"s3://{self.name}/{key}"

    def http_url(self, key: str) -> str:
        """The URL of a key for readers that know no S3."""
        return f"http://{self.address}/{self.name}/{key}"

    def forget(self) -> None:
        """Forget all requests."""
        self.requests.clear()

    def sent(self) -> int:
        """Bytes of all bodies."""
        return sum(request.sent for request in self.requests)


class Handler(BaseHTTPRequestHandler):
    """Answers requests for one bucket."""

    protocol_version = "HTTP/1.1"
    # Headers and body are two packets, and the second would wait 40 ms for the answer to the first.
    disable_nagle_algorithm = True
    bucket: Bucket
    # Of the headers that hold what writers say about objects.
    metadata_prefix = "x-amz-meta-"

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Objects, and lists of them."""
        self._handle(self._get)

    def do_HEAD(self) -> None:
        """The size and tag of an object."""
        self._handle(self._get)

    def do_PUT(self) -> None:
        """Objects, and parts of them."""
        self._handle(self._put)

    def do_POST(self) -> None:
        """The begin and the end of an upload in parts, and removals of many objects."""
        self._handle(self._post)

    def do_DELETE(self) -> None:
        """Objects and uploads."""
        self._handle(self._delete)

    def _handle(self, answer: Callable[[Request], None]) -> None:
        parts = urlsplit(self.path)
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # Whatever the bucket is called.
        request = Request(self.command, unquote(parts.path)[1:].partition("/")[2])
        # Before it is answered: the client may look at the list as soon as it has the answer.
        self.bucket.requests.append(request)
        try:
            time.sleep(self.bucket.delay)
            if any(fault(self, request) for fault in list(self.bucket.faults)):
                return
            if not self.bucket.is_open and not self._is_signed(parts.path, parts.query):
                self.refuse(request, 403, "SignatureDoesNotMatch")
                return
            answer(request)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def refuse(self, request: Request, status: int, code: str, **headers: str) -> None:
        """Answer with an error as S3 has them."""
        body = f"<Error><Code>{code}</Code><Message>no</Message><RequestId>R77</RequestId></Error>".encode()
        self.answer(request, status, body, **headers)

    def answer(self, request: Request, status: int, body: bytes = b"", **headers: str) -> None:
        """Send an answer."""
        request.status = status
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        if self.bucket.closes_connections:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            # Before it is written: the client may ask for the sum as soon as it has the last byte.
            request.sent += len(body)
            try:
                self.wfile.write(body)
            except OSError:
                request.sent -= len(body)
                raise

    def path_of(self, key: str) -> Path:
        """The file of a key."""
        return self.bucket.directory / key

    def tag_of(self, key: str) -> str:
        """The tag of an object: other bytes have another one."""
        status = self.path_of(key).stat()
        return self.bucket.tags.get(key, f'"{status.st_size:x}-{status.st_mtime_ns:x}"')

    def _get(self, request: Request) -> None:
        if self.query.get("list-type") == "2":
            self._list(request)
            return
        path = self.path_of(request.key)
        if not path.is_file():
            self.refuse(request, 404, "NoSuchKey")
            return
        tag, size = self.tag_of(request.key), path.stat().st_size
        headers = {"Last_Modified": formatdate(path.stat().st_mtime, usegmt=True), **({"ETag": tag} if tag else {})}
        headers |= self.bucket.metadata.get(request.key, {})
        if self.headers.get("If-Match") not in {None, tag}:
            self.refuse(request, 412, "PreconditionFailed")
            return
        start, end = 0, size
        match = _RANGE.match(self.headers.get("Range") or "")
        if match:
            first, last = match.groups()
            start, end = (int(first), size) if first else (max(0, size - int(last)), size)
            if first and last:
                end = min(size, int(last) + 1)
            request.range = (start, end)
            if start >= end:
                self.refuse(request, 416, "InvalidRange")
                return
            headers["Content_Range"] = f"bytes {start}-{end - 1}/{size}"
        if self.command == "HEAD":
            request.status = 200
            self.send_response(200)
            for name, value in {**headers, "Content_Length": str(size)}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            return
        with path.open("rb") as file:
            file.seek(start)
            body = file.read(end - start)
        self.answer(request, 206 if match else 200, body, **headers)

    def _list(self, request: Request) -> None:
        prefix = self.query.get("prefix", "")
        entries: list[str] = []
        prefixes: set[str] = set()
        for key, entry in sorted(self._listed().items()):
            rest = key.removeprefix(prefix)
            if not key.startswith(prefix):
                continue
            if self.query.get("delimiter") and "/" in rest:
                prefixes.add(prefix + rest.split("/")[0] + "/")
                continue
            entries.append(entry)
        common = "".join(f"<CommonPrefixes><Prefix>{escape(found)}</Prefix></CommonPrefixes>" for found in prefixes)
        body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(entries)}{common}</ListBucketResult>"
        self.answer(request, 200, body.encode(), Content_Type="application/xml")

    def _listed(self) -> dict[str, str]:
        """The entry of each object in lists, by its key."""
        found: dict[str, str] = {}
        for path in self.bucket.directory.rglob("*"):
            with suppress(FileNotFoundError):  # removed meanwhile
                if path.is_file():
                    key = path.relative_to(self.bucket.directory).as_posix()
                    found[key] = self._entry(key)
        until = time.monotonic() - self.bucket.list_delay
        for when, key, before in reversed(self.bucket.changes if self.bucket.list_delay else []):
            if when < until:
                break
            if before is None:
                found.pop(key, None)
            else:
                found[key] = before
        return found

    def _entry(self, key: str) -> str:
        status, tag = self.path_of(key).stat(), self.tag_of(key)
        modified = datetime.fromtimestamp(status.st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return (
            f"<Contents><Key>{escape(key)}</Key><LastModified>{modified}</LastModified>"
            f"<ETag>{escape(tag)}</ETag><Size>{status.st_size}</Size></Contents>"
        )

    def _remove(self, key: str) -> None:
        with suppress(FileNotFoundError, IsADirectoryError):  # a directory is no object
            entry = self._entry(key)
            self.path_of(key).unlink()
            self.bucket.changes.append((time.monotonic(), key, entry))

    def _put(self, request: Request) -> None:
        tag = f'"{hashlib.md5(self.body).hexdigest()}"'
        if "uploadId" in self.query:
            self.bucket.uploads[self.query["uploadId"]][int(self.query["partNumber"])] = self.body
            self.answer(request, 200, ETag=tag)
            return
        with self.bucket.lock:
            is_there = self.path_of(request.key).is_file()
            expected, unexpected = self.headers.get("If-Match"), self.headers.get("If-None-Match")
            is_met = expected is None or (is_there and expected == self.tag_of(request.key))
            if not is_met or (unexpected == "*" and is_there):
                self.refuse(request, 412, "PreconditionFailed")
                return
            self._store(request.key, self.body, self._metadata())
            tag = self.tag_of(request.key)
        self.answer(request, 200, ETag=tag)

    def _metadata(self) -> dict[str, str]:
        return {name: value for name, value in self.headers.items() if name.lower().startswith(self.metadata_prefix)}

    def _store(self, key: str, body: bytes, metadata: dict[str, str]) -> None:
        path = self.path_of(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{threading.get_ident()}")
        temporary.write_bytes(body)
        is_new = not path.exists()
        temporary.rename(path)
        if is_new:
            self.bucket.changes.append((time.monotonic(), key, None))
        self.bucket.metadata[key] = metadata

    def _post(self, request: Request) -> None:
        if "uploads" in self.query:
            upload = f"upload-{next(_NUMBERS)}"
            self.bucket.uploads[upload] = {}
            self.bucket.metadata[upload] = self._metadata()
            text = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
        elif "delete" in self.query:
            keys = re.findall(r"<Key>(.*?)</Key>", self.body.decode())
            for key in keys:
                self._remove(unescape(key))
            text = f"<DeleteResult>{''.join(f'<Deleted><Key>{key}</Key></Deleted>' for key in keys)}</DeleteResult>"
        else:
            upload = self.query["uploadId"]
            if upload not in self.bucket.uploads:
                self.refuse(request, 404, "NoSuchUpload")
                return
            parts = self.bucket.uploads.pop(upload)
            metadata = self.bucket.metadata.pop(upload)
            self._store(request.key, b"".join(parts[number] for number in sorted(parts)), metadata)
            tag = escape(self.tag_of(request.key))
            text = f"<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>"
        self.answer(request, 200, text.encode(), Content_Type="application/xml")

    def _delete(self, request: Request) -> None:
        if "uploadId" in self.query:
            self.bucket.uploads.pop(self.query["uploadId"], None)
        else:
            self._remove(request.key)
        self.answer(request, 204)

    def _is_signed(self, path: str, query: str) -> bool:
        """Whether the signature (AWS version 4) is that of the key."""
        found = re.match(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d+)/([^/]+)/s3/aws4_request, *SignedHeaders=([^,]+), "
            r"*Signature=([0-9a-f]+)",
            self.headers.get("Authorization") or "",
        )
        if found is None or found[1] != KEY:
            return False
        day, region, names = found[2], found[3], found[4].split(";")
        pairs = sorted(parse_qsl(query, keep_blank_values=True))
        canonical = "\n".join(
            [
                self.command,
                path,
                "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in pairs),
                *(f"{name}:{' '.join((self.headers.get(name) or '').split())}" for name in names),
                "",
                found[4],
                self.headers.get("x-amz-content-sha256") or "",
            ]
        )
        scope = f"{day}/{region}/s3/aws4_request"
        stamp = self.headers.get("x-amz-date") or ""
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = f"AWS4{SECRET}".encode()
        for part in (day, region, "s3", "aws4_request", text):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return hmac.compare_digest(key.hex(), found[5])


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = False  # so that closing waits until each has closed its socket

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connections: list[socket.socket] = []

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.append(request)
        super().process_request(request, client_address)

    def server_close(self) -> None:
        """Close connections that clients keep for later requests, too: their threads wait for them."""
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        """A client that goes away is no error."""


@contextmanager
def served(directory: Path, handler: type[Handler] = Handler) -> Iterator[Bucket]:
    """A server over a directory, in a thread of this process: a reader that held Python's lock would block it."""
    bucket = Bucket(directory, name=f"bucket-{next(_NUMBERS)}")
    own = type("BucketHandler", (handler,), {"bucket": bucket})
    running: list[tuple[_Server, threading.Thread]] = []

    def start() -> None:
        host, _, port = bucket.address.partition(":")
        server = _Server((host or "127.0.0.1", int(port or 0)), own)
        bucket.address = f"127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        running.append((server, thread))

    def stop() -> None:
        server, thread = running.pop()
        server.shutdown()
        server.server_close()
        thread.join(10)

    bucket.open, bucket.close = start, stop
    start()
    try:
        yield bucket
    finally:
        stop()
