"""The driver's end of the pipes to a worker process. It never blocks, so that a hanging worker cannot hang the driver.

The other end is a `multiprocessing.connection.Connection` for each direction.
"""

import os
import pickle
import struct
from typing import Any, Final

_HEADER: Final = struct.Struct("!i")
# The length of a long message; it follows a -1 in the header.
_LONG_HEADER: Final = struct.Struct("!Q")
_MAX_SHORT: Final = 0x7FFFFFFF
_READ_BYTES: Final = 1 << 18


class MessagePipe:
    """Messages to and from a process.

    Args:
        requests: The descriptor to write messages to.
        answers: The descriptor to read messages from. Both are closed together with this object.
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
        """Whether there are bytes to `flush`."""
        return bool(self._unsent)

    def send(self, message: Any) -> None:
        """Send a message; bytes that do not fit into the pipe are kept for `flush`.

        Raises:
            OSError: The process has closed its end.
        """
        data = pickle.dumps(message)
        size = len(data)
        self._unsent += _HEADER.pack(size) if size <= _MAX_SHORT else _HEADER.pack(-1) + _LONG_HEADER.pack(size)
        self._unsent += data
        self.flush()

    def flush(self) -> None:
        """Write as many bytes as the pipe has room for.

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
        """The complete messages that have arrived.

        Raises:
            EOFError: The process has closed its end, and there is no complete message.
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
        while (bounds := self._first_message()) is not None:
            start, end = bounds
            messages.append(pickle.loads(self._unread[start:end]))  # noqa: S301 - comes from a child process
            del self._unread[:end]
        if has_ended and not messages:
            raise EOFError
        return messages

    def _first_message(self) -> tuple[int, int] | None:
        """The start and end of the first message, if it has arrived completely."""
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
        """Close the pipe to the process, which then ends after its current task."""
        if not self._has_closed_requests:
            self._has_closed_requests = True
            self._unsent.clear()
            os.close(self.requests)

    def close(self) -> None:
        """Close both pipes."""
        self.close_requests()
        os.close(self.answers)
