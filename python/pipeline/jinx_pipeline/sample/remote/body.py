"""The responses of servers, and the errors that may occur."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit


class TransferError(ValueError):
    """Raised when a file could not be downloaded or uploaded.

    Attributes:
        may_pass: Whether the same request may succeed later: the server failed or the connection broke.
    """

    def __init__(self, message: str, *, may_pass: bool = False) -> None:
        super().__init__(message)
        self.may_pass = may_pass


@dataclass(frozen=True)
class Body:
    """The content of a file on a server, from some position to the end.

    Attributes:
        start: The position of the first byte; 0 if the server sends the whole file.
        size: The size of the whole file; None: unknown.
        validator: Identifies the version of the file; empty if the server names none.
        chunks: The bytes.
    """

    start: int
    size: int | None
    validator: str
    chunks: Iterator[bytes]


class Source(Protocol):
    """A kind of server."""

    def open(self, url: str, start: int, validator: str) -> AbstractContextManager[Body]:
        """The content of a file.

        Args:
            url: Its URL.
            start: The first byte that is wanted; the whole file is sent if its version is not `validator`.
            validator: The version of the bytes before `start`.

        Raises:
            TransferError: There is no answer, or it is an error.
        """
        ...


def shown(url: str) -> str:
    """A URL without parts that may be secret: user info, query and fragment."""
    parts = urlsplit(url)
    query = "?..." if parts.query else ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{query}"
