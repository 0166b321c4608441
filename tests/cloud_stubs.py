"""The parts of the APIs of Google Cloud Storage and Azure Blob Storage that we use, over a directory of this machine.

They were written from the documentation of the stores, and are no proof that the stores answer alike.
"""

from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote, urlsplit
from xml.sax.saxutils import escape

import bucket


class GoogleHandler(bucket.Handler):
    """The XML API of Google Cloud Storage: that of S3 with generations of objects."""

    metadata_prefix = "x-goog-meta-"

    def _generation(self) -> int:
        """That of the object of this request; 0 if there is none."""
        key = unquote(urlsplit(self.path).path)[1:].partition("/")[2]
        path = self.path_of(key)
        return path.stat().st_mtime_ns if key and path.is_file() else 0

    def end_headers(self) -> None:
        """Every answer about an object names its generation."""
        if self._generation():
            self.send_header("x-goog-generation", str(self._generation()))
        super().end_headers()

    def _put(self, request: bucket.Request) -> None:
        expected = self.headers.get("x-goog-if-generation-match")
        with self.bucket.lock:
            is_met = expected is None or int(expected) == self._generation()
        if not is_met:
            self.refuse(request, 412, "PreconditionFailed")
            return
        super()._put(request)


class AzureHandler(bucket.Handler):
    """The API of Azure Blob Storage."""

    metadata_prefix = "x-ms-meta-"

    def _handle(self, answer: object) -> None:
        # Ranges of the end are refused, as there.
        if (self.headers.get("Range") or "").startswith("bytes=-"):
            self.send_error(400)
            return
        super()._handle(answer)  # type: ignore[arg-type]

    def _get(self, request: bucket.Request) -> None:
        if self.query.get("comp") == "list":
            self._list(request)
        else:
            super()._get(request)

    def _list(self, request: bucket.Request) -> None:
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter")
        root = self.bucket.directory
        keys = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        blobs: list[str] = []
        directories: set[str] = set()
        for key in keys:
            rest = key.removeprefix(prefix)
            if not key.startswith(prefix):
                continue
            if delimiter and delimiter in rest:
                directories.add(prefix + rest.split(delimiter)[0] + delimiter)
                continue
            status = self.path_of(key).stat()
            blobs.append(
                f"<Blob><Name>{escape(key)}</Name><Properties>"
                f"<Last-Modified>{formatdate(status.st_mtime, usegmt=True)}</Last-Modified>"
                f"<Etag>{escape(self.tag_of(key))}</Etag><Content-Length>{status.st_size}</Content-Length>"
                "<Content-Type>application/octet-stream</Content-Type></Properties></Blob>"
            )
        blobs += [f"<BlobPrefix><Name>{escape(name)}</Name></BlobPrefix>" for name in sorted(directories)]
        body = f"<EnumerationResults><Blobs>{''.join(blobs)}</Blobs><NextMarker /></EnumerationResults>"
        self.answer(request, 200, body.encode(), Content_Type="application/xml")

    def _put(self, request: bucket.Request) -> None:
        if self.headers.get("x-ms-blob-type") != "BlockBlob":
            self.refuse(request, 400, "InvalidHeaderValue")
        elif self.headers.get("If-None-Match") == "*" and self.path_of(request.key).is_file():
            self.refuse(request, 409, "BlobAlreadyExists")
        else:
            super()._put(request)

    def end_headers(self) -> None:
        """Every answer has a time."""
        if not any(b"Last-Modified" in line for line in getattr(self, "_headers_buffer", [])):
            self.send_header("Last-Modified", formatdate(0, usegmt=True))
        BaseHTTPRequestHandler.end_headers(self)
