"""Stores the answers of services by the digest of their requests, as JSON lines, one file per process.

A line is written as soon as the answer arrives, so a process that is killed loses none. A file has one writer and only
grows, so that processes on several machines may share a directory. Readers find the complete lines of all files; the
rest of a line that a crash cut off is skipped.
"""

import errno
import fcntl
import os
import re
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import finalize

import msgspec
import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

# The fields of a line that are found without parsing it; `AnswerFiles.put` writes them first.
_HEAD: Final = re.compile(rb'\{"key":"([0-9a-f]{32})","tokens":\[(\d+),(\d+)\],"cost":([0-9.e+-]+),')
_PLACE_BITS: Final = 44  # 16 TiB in each file
# The number of places kept in a dict before they are sorted into arrays, which take a tenth of the memory.
_MAX_RECENT: Final = 50_000


@dataclass
class Spent:
    """The total cost of answers.

    Attributes:
        requests: The answers.
        tokens: The tokens of their prompts and of the answers.
        money: Their price, in the currency of the prices.
    """

    requests: int = 0
    tokens: int = 0
    money: float = 0.0

    def add(self, tokens: int, money: float) -> None:
        """Add an answer."""
        self.requests += 1
        self.tokens += tokens
        self.money += money


class Kept(NamedTuple):
    """An answer that was stored earlier.

    Attributes:
        answer: The answer of the service: the parsed body.
        facts: What it belongs to, such as the operator, the prompt and the model.
    """

    answer: Any
    facts: dict[str, Any]


class AnswerFiles:
    """The answers in a directory; several processes and threads may use it.

    Args:
        folder: The directory, which the first answer creates.

    Attributes:
        spent: What all answers in the directory have cost, as of the last `refresh`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spent = Spent()
        self._lock = Lock()
        self._paths: list[Path] = []
        self._read_to: dict[str, tuple[int, int]] = {}  # by name: the number of the file, and where to continue reading
        self._index = _Index()
        self._own = -1  # the descriptor of this process's own file
        self._name = ""
        self._process = 0

    def get(self, key: bytes) -> Kept | None:
        """The stored answer to the request with this digest, as of the last `refresh`."""
        with self._lock:
            for place in self._index.places(key):
                line = self._line(place)
                head = _HEAD.match(line)
                if head is None or bytes.fromhex(head[1].decode()) != key:
                    continue
                try:
                    record = msgspec.json.decode(line)
                except ValueError:
                    continue  # a crash of the machine has damaged the line
                return Kept(record.pop("answer", None), record)
        return None

    def put(self, key: bytes, answer: Any, tokens: tuple[int, int], cost: float, facts: dict[str, Any]) -> None:
        """Store an answer.

        Args:
            key: The digest of the request, 16 bytes.
            answer: The answer, as plain data.
            tokens: The tokens of the prompt and of the answer.
            cost: What it cost.
            facts: What it belongs to.

        Raises:
            OSError: The file cannot be written.
        """
        head = b'{"key":"%b","tokens":[%d,%d],"cost":%b,' % (key.hex().encode(), *tokens, f"{cost:.9g}".encode())
        line = head + msgspec.json.encode({**facts, "answer": answer})[1:] + b"\n"
        with self._lock:
            file, name = self._opened()
            number, place = self._read_to[name]
            _write(file, line)
            self._index.add(key, number << _PLACE_BITS | place)
            self._read_to[name] = number, place + len(line)
            self.spent.add(sum(tokens), cost)

    def put_first(self, key: bytes, answer: Any, facts: dict[str, Any]) -> Any:
        """Store an answer without tokens, unless there is one; returns the stored one.

        So processes that send the same request at the same time get the same answer.

        Raises:
            OSError: The file cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refresh()
            if (kept := self.get(key)) is not None:
                return kept.answer
            self.put(key, answer, (0, 0), 0.0, facts)
        return answer

    def refresh(self) -> None:
        """Read what processes have added since the last call."""
        with self._lock:
            try:
                entries = [entry for entry in os.scandir(self.folder) if entry.name.endswith(".jsonl")]
            except FileNotFoundError:
                return
            for entry in entries:
                number, start = self._read_to.get(entry.name, (-1, 0))
                if entry.stat().st_size > start:
                    self._read(entry, number, start)

    def sync(self) -> None:
        """Wait until the answers of this process are on disk."""
        with self._lock:
            if self._own >= 0 and self._process == os.getpid():
                os.fdatasync(self._own)

    def _opened(self) -> tuple[int, str]:
        """The file of this process and its name; a forked process does not write to the file of its parent."""
        if self._own < 0 or self._process != os.getpid():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._name = f"{time.time_ns():x}-{os.getpid()}-{os.urandom(4).hex()}.jsonl"
            path = self.folder / self._name
            self._own = os.open(path, os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o666)
            finalize(self, os.close, self._own)
            self._process = os.getpid()
            self._paths.append(path)
            self._read_to[self._name] = len(self._paths) - 1, 0
        return self._own, self._name

    def _read(self, entry: "os.DirEntry[str]", number: int, start: int) -> None:
        """Add the complete lines of a file to the index."""
        if number < 0:
            number = len(self._paths)
            self._paths.append(Path(entry.path))
        place = start
        with open(entry.path, "rb") as file:  # noqa: PTH123 - few files, read often
            file.seek(start)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # the last line is still being written
                if head := _HEAD.match(line):
                    self._index.add(bytes.fromhex(head[1].decode()), number << _PLACE_BITS | place)
                    self.spent.add(int(head[2]) + int(head[3]), float(head[4]))
                place += len(line)
        self._read_to[entry.name] = number, place

    def _line(self, place: int) -> bytes:
        with self._paths[place >> _PLACE_BITS].open("rb") as file:
            file.seek(place & ((1 << _PLACE_BITS) - 1))
            return file.readline()


@lru_cache(maxsize=16)
def files_of(folder: Path) -> AnswerFiles:
    """The answers in a directory, shared by everything in this process that sends requests."""
    return AnswerFiles(folder)


def _write(file: int, line: bytes) -> None:
    """Write a line; if it does not fit on the disk, no part of it stays."""
    written = os.write(file, line)
    if written < len(line):
        os.ftruncate(file, os.fstat(file).st_size - written)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class _Index:
    """Where answers are, by digest: 16 bytes of memory for each, except for recent ones.

    Only the first half of a digest is stored; whoever reads the line compares the whole digest.
    """

    def __init__(self) -> None:
        self._keys: npt.NDArray[np.uint64] = np.empty(0, np.uint64)
        self._places: npt.NDArray[np.uint64] = np.empty(0, np.uint64)
        self._recent: dict[int, list[int]] = {}

    def add(self, key: bytes, place: int) -> None:
        self._recent.setdefault(_half(key), []).append(place)
        if len(self._recent) >= _MAX_RECENT:
            recent = [(half, place) for half, places in self._recent.items() for place in places]
            keys, places = np.array(recent, np.uint64).T
            keys, places = np.append(self._keys, keys), np.append(self._places, places)
            order = np.argsort(keys, kind="stable")
            self._keys, self._places, self._recent = keys[order], places[order], {}

    def places(self, key: bytes) -> list[int]:
        half = _half(key)
        first, last = np.searchsorted(self._keys, np.array([half, half + 1], np.uint64)) if len(self._keys) else (0, 0)
        return [*self._places[first:last].tolist(), *self._recent.get(half, ())]


def _half(key: bytes) -> int:
    """The first half of a digest; never the largest number, so that it has a successor."""
    return min(int.from_bytes(key[:8], "big"), (1 << 64) - 2)
