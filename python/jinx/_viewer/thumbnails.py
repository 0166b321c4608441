"""Thumbnails of large images, made in child processes with little memory and little time."""

import queue
import struct
import subprocess
import sys
import threading
from importlib.util import find_spec
from typing import IO

_PIXELS = 512
_MAX_PIXELS = 100_000_000
_PROCESSES = 2
_SECONDS = 5.0
_MEMORY_BYTES = 2 << 30
_LENGTH = struct.Struct("<Q")


class Thumbnails:
    """Makes thumbnails in up to two child processes, which start when they are needed."""

    def __init__(self) -> None:
        self._idle: queue.LifoQueue[subprocess.Popen[bytes] | None] = queue.LifoQueue()
        for _ in range(_PROCESSES):
            self._idle.put(None)

    def make(self, data: bytes) -> bytes | None:
        """A JPEG of at most 512 pixels; None if Pillow is not installed.

        Raises:
            ValueError: The image is damaged, or takes too much time or memory.
        """
        if find_spec("PIL") is None:
            return None
        process = self._idle.get()
        try:
            if process is None or process.poll() is not None:
                process = _start()
            answer = _ask(process, data)
        except BaseException:
            if process is not None:
                _end(process)
            process = None
            raise
        finally:
            self._idle.put(process)
        if answer is None:
            raise ValueError("this image is damaged, or takes too much memory or time")
        return answer

    def close(self) -> None:
        """End the processes."""
        processes = [self._idle.get() for _ in range(_PROCESSES)]
        for process in processes:
            if process is not None:
                _end(process)
            self._idle.put(None)


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", __name__]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _ask(process: subprocess.Popen[bytes], data: bytes) -> bytes | None:
    """The answer of a child; None if the child found the image damaged, or did not answer in time."""
    if process.stdin is None or process.stdout is None:
        return None
    timer = threading.Timer(_SECONDS, process.kill)
    timer.start()
    try:
        process.stdin.write(_LENGTH.pack(len(data)))
        process.stdin.write(data)
        process.stdin.flush()
        return _read(process.stdout)
    except OSError:  # the process has ended
        return None
    finally:
        timer.cancel()


def _read(pipe: IO[bytes]) -> bytes | None:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = pipe.read(length)
    return body if length and len(body) == length else None


def _serve() -> None:
    """Answer images on standard input until it closes. Runs in the child."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while len(head := source.read(_LENGTH.size)) == _LENGTH.size:
        (length,) = _LENGTH.unpack(head)
        answer = _thumbnail(source.read(length))
        target.write(_LENGTH.pack(len(answer)))
        target.write(answer)
        target.flush()


def _thumbnail(data: bytes) -> bytes:
    """A small JPEG, or empty bytes if the image is damaged."""
    import io

    from PIL import Image

    from jinx._dataset.display import on_white

    Image.MAX_IMAGE_PIXELS = _MAX_PIXELS // 2  # twice this limit is an error
    try:
        with Image.open(io.BytesIO(data)) as image:
            # Decode only as much of a JPEG as a thumbnail needs.
            image.draft("RGB", (_PIXELS, _PIXELS))
            image.thumbnail((_PIXELS, _PIXELS))
            out = io.BytesIO()
            on_white(image).save(out, "JPEG", quality=80)
    except Exception:  # noqa: BLE001 - decoders may raise anything
        return b""
    return out.getvalue()


if __name__ == "__main__":
    _serve()
