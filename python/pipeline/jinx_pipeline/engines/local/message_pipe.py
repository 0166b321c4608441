"""The driver's end of the pipes to a worker process, which never blocks: a worker that hangs must not hang the driver.

The other end is a `multiprocessing.connection.Connection` for each direction.
"""

import os
import pickle
import struct
from typing import Any, Final

_HEADER: Final = struct.Struct("!i")
# Follows -1 in the header of a long message.
_LONG_HEADER: Final = struct.Struct("!Q")
_MOST_SHORT: Final = 0x7FFFFFFF
_READ_BYTES: Final = 1 << 18


class MessagePipe:
    """Messages to and from a process.

    Args:
        requests: The descriptor into which messages are written.
        answers: The one from which they are read. Both are closed with this.
    """

    def __init__(self, requests: int, answers: int) -> None:
        self.requests, self.answers = requests, answers
        os.set_blocking(requests, False)
        os.set_blocking(answers, False)
        self._unsent = bytearray()
        self._unread = bytearray()
        self._has_closed_requests = False

    @property
    def has_unsent(self) -> bool:
        """Whether `flush` has something to write when there is room for it."""
        return bool(self._unsent)

    def send(self, message: Any) -> None:
        """Send a message; what finds no room now is kept for `flush`.

        Raises:
            OSError: The process has closed its end.
        """
        data = pickle.dumps(message)
        size = len(data)
        self._unsent += _HEADER.pack(size) if size <= _MOST_SHORT else _HEADER.pack(-1) + _LONG_HEADER.pack(size)
        self._unsent += data
        self.flush()

    def flush(self) -> None:
        """Write as much as there is room for.

        Raises:
            OSError: The process has closed its end.
        """
        while self._unsent:
            try:
                written = os.write(self.requests, self._unsent)
            except BlockingIOError:
                return
            del self._unsent[:written]

    def receive(self) -> list[Any]:
        """The messages that have come whole.

        Raises:
            EOFError: The process has closed its end, and there is no whole message.
        """
        has_ended = False
        while True:
            try:
                data = os.read(self.answers, _READ_BYTES)
            except BlockingIOError:
                break
            if not data:
                has_ended = True
                break
            self._unread += data
        messages: list[Any] = []
        while (size := self._whole()) is not None:
            start, end = size
            messages.append(pickle.loads(self._unread[start:end]))  # noqa: S301 - of a process that we started
            del self._unread[:end]
        if has_ended and not messages:
            raise EOFError
        return messages

    def _whole(self) -> tuple[int, int] | None:
        """Where the first message begins and ends, if it has come whole."""
        start = _HEADER.size
        if len(self._unread) < start:
            return None
        (size,) = _HEADER.unpack_from(self._unread)
        if size == -1:
            start += _LONG_HEADER.size
            if len(self._unread) < start:
                return None
            (size,) = _LONG_HEADER.unpack_from(self._unread, _HEADER.size)
        return (start, start + size) if len(self._unread) >= start + size else None

    def close_requests(self) -> None:
        """Close the way to the process, which ends then between two tasks."""
        if not self._has_closed_requests:
            self._has_closed_requests = True
            self._unsent.clear()
            os.close(self.requests)

    def close(self) -> None:
        """Close both ways."""
        self.close_requests()
        os.close(self.answers)
