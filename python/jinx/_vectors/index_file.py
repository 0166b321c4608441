"""The file of an index of vectors: its layout, its checks, and reading one list.

    64 bytes    "JINXIVF1", the footer's offset and length (u64), its hash (32 characters)
    blocks      of each list in turn: positions i64, factors f32, offsets f32, codes i8 of shape (members, width);
                each block is filled up with zeros to a multiple of 64 bytes
    footer      length of the JSON (u64), JSON filled up with blanks to a multiple of 64 bytes less these 8, centres f32
                of shape (lists, width), bounds u64 (lists + 1), hashes of the blocks (32 characters each)

The score of a member is about `codes @ query * factor + offset`; it only chooses what is compared exactly. All numbers
are little-endian. Hashes are xxh3-128 as hex digits.
"""

import json
import os
import struct
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from jinx import _core
from jinx._vectors.scores import METRICS
from jinx.errors import CorruptFileError, UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SUFFIX = ".ivf"
_KIND, _MAGIC = b"JINXIVF", b"JINXIVF1"
_HEAD = struct.Struct("<8sQQ32s8x")
_LENGTH = struct.Struct("<Q")
_HASH = 32
_ALIGN = 64
# The limits of the specification for typed columns.
_WIDEST = 1 << 20
_MOST = 1 << 48
# The bytes of a vector in a list, besides its codes.
_MEMBER = 16


class Block(NamedTuple):
    """The members of one list.

    Attributes:
        positions: Rows of the column; int64 of shape (members,).
        factors: float32 of shape (members,).
        offsets: float32 of shape (members,).
        codes: int8 of shape (members, width).
    """

    positions: "npt.NDArray[np.int64]"
    factors: "npt.NDArray[np.float32]"
    offsets: "npt.NDArray[np.float32]"
    codes: "npt.NDArray[np.int8]"


@dataclass(frozen=True)
class Facts:
    """What an index file states about itself.

    Attributes:
        column: The column that it was made from.
        metric: How it compares: `cosine`, `dot` or `l2`.
        vectors: The rows of that column, missing vectors included.
        width: The numbers of each vector.
        lists: How many lists the vectors are in.
        seed: Which vectors the first centres were.
        view: The id of the saved view that it was made from; empty if there is none.
        digest: A hash of the column.
        k: How many nearest vectors `recalls` is about.
        queries: How many vectors of the column were searched for to measure `recalls`.
        recalls: Pairs: how many lists were searched, and which share of the `k` nearest vectors was found.
        probes: How many lists are searched by default.
    """

    column: str
    metric: str
    vectors: int
    width: int
    lists: int
    seed: int
    view: str
    digest: str
    k: int
    queries: int
    recalls: tuple[tuple[int, float], ...]
    probes: int

    @classmethod
    def parsed(cls, text: bytes) -> "Facts":
        """The facts parsed from JSON.

        Raises:
            ValueError: This is not what a writer writes.
        """
        said = _members(text)
        if set(said) != {field.name for field in fields(cls)}:
            raise ValueError("other members than those of an index")
        numbers = {name: said[name] for name in ("vectors", "width", "lists", "seed", "k", "queries", "probes")}
        texts = [said[name] for name in ("column", "metric", "view", "digest")]
        if any(type(number) is not int or not number >= 0 for number in numbers.values()):
            raise ValueError("a number that is none")
        if any(type(text) is not str for text in texts) or said["metric"] not in METRICS:
            raise ValueError("a text that is none")
        is_possible = 1 <= numbers["width"] <= _WIDEST and numbers["vectors"] <= _MOST
        if not (is_possible and 1 <= numbers["lists"] <= _MOST and numbers["probes"] >= 1):
            raise ValueError("a number out of range")
        recalls = tuple((int(probes), float(recall)) for probes, recall in said["recalls"])
        facts: dict[str, Any] = {**said, "recalls": recalls}
        return cls(**facts)


class Lists(NamedTuple):
    """What the index records about all lists.

    Attributes:
        centres: float32 of shape (lists, width).
        bounds: How many members the lists before each one have; of shape (lists + 1,).
        hashes: Of their blocks.
    """

    centres: "npt.NDArray[np.float32]"
    bounds: "npt.NDArray[Any]"
    hashes: list[str]


class IndexFile:
    """An open index. Its lists are read and compared with their hashes when they are searched.

    Attributes:
        path: Its path.
        facts: The facts in its footer.
        centres: The centres of the lists, float32 of shape (lists, width).
        bounds: How many members the lists before each one have, int64 of shape (lists + 1,).
    """

    def __init__(self, path: str, file: int, facts: Facts, lists: "Lists") -> None:
        self.path = path
        self.facts = facts
        self.centres, self.bounds, self._hashes = lists
        self._file = file
        self._starts = block_starts(self.bounds, facts.width)

    @classmethod
    def open(cls, path: str) -> "IndexFile":
        """Open an index.

        Raises:
            FileNotFoundError: There is none.
            UnsupportedError: The file is something else.
            CorruptFileError: It is damaged.
        """
        file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            return cls._read(path, file)
        except BaseException:
            os.close(file)
            raise

    @classmethod
    def _read(cls, path: str, file: int) -> "IndexFile":
        import numpy as np

        head = os.pread(file, _HEAD.size, 0)
        if head[: len(_MAGIC)] != _MAGIC:
            other = "of another version" if head.startswith(_KIND) else "not an index of vectors"
            raise UnsupportedError(f"{path}: this is {other}; make one with make_vector_index (jinx vector-index)")
        size = os.fstat(file).st_size
        if len(head) < _HEAD.size:
            raise corrupt(path, "it is cut off")
        _, start, length, said = _HEAD.unpack(head)
        if start < _HEAD.size or start + length != size:
            raise corrupt(path, f"its footer should end at byte {start + length:,}, and the file has {size:,} bytes")
        text = os.pread(file, length, start)
        if len(text) != length or _core.hash_bytes(text).encode() != said:
            raise corrupt(path, "its footer differs from its hash")
        try:
            facts, (centres, bounds, hashes) = _footer(text)
        except (ValueError, TypeError, KeyError, RecursionError, struct.error) as error:
            raise corrupt(path, f"its footer is not that of an index: {error}") from None
        is_ascending = bounds[0] == 0 and bool((bounds[1:] >= bounds[:-1]).all()) and int(bounds[-1]) <= facts.vectors
        if not is_ascending or not np.isfinite(centres).all():
            raise corrupt(path, "its lists contradict each other")
        if int(block_starts(bounds.astype(np.int64), facts.width)[-1]) != start:
            raise corrupt(path, "its lists have other lengths than it says")
        return cls(path, file, facts, Lists(centres, bounds.astype(np.int64), hashes))

    def __del__(self) -> None:
        os.close(self._file)

    @property
    def lists(self) -> int:
        """The number of lists in the index."""
        return len(self.centres)

    def block(self, number: int) -> Block:
        """The members of one list.

        Raises:
            CorruptFileError: It is damaged.
        """
        import numpy as np

        start, stop = int(self._starts[number]), int(self._starts[number + 1])
        data = os.pread(self._file, stop - start, start)
        if len(data) != stop - start or _core.hash_bytes(data) != self._hashes[number]:
            raise corrupt(self.path, f"list {number} differs from its hash")
        count, width = int(self.bounds[number + 1] - self.bounds[number]), self.facts.width
        positions = np.frombuffer(data, "<i8", count)
        if count and not (int(positions.min()) >= 0 and int(positions.max()) < self.facts.vectors):
            raise corrupt(self.path, f"list {number} names rows that the column does not have")
        factors = np.frombuffer(data, "<f4", count, 8 * count)
        offsets = np.frombuffer(data, "<f4", count, 12 * count)
        codes = np.frombuffer(data, np.int8, count * width, _MEMBER * count)
        return Block(positions, factors, offsets, codes.reshape(count, width))


class IndexWriter:
    """Writes an index, list by list in order.

    Args:
        path: A temporary name.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, "wb")  # noqa: SIM115, PTH123 - closed by `close`
        self._file.write(bytes(_HEAD.size))
        self.hashes = list[str]()

    def add(self, block: Block) -> None:
        """Write the next list."""
        parts = [block.positions.astype("<i8"), block.factors.astype("<f4"), block.offsets.astype("<f4"), block.codes]
        data = b"".join(part.tobytes() for part in parts)
        data += bytes(-len(data) % _ALIGN)
        self.hashes.append(_core.hash_bytes(data))
        self._file.write(data)

    def finish(self, facts: Facts, centres: Any, bounds: Any) -> None:
        """Write what comes after the lists, and record its position."""
        start = self._file.tell()
        said = json.dumps(asdict(facts), separators=(",", ":")).encode()
        said += b" " * (-(len(said) + _LENGTH.size) % _ALIGN)
        text = _LENGTH.pack(len(said)) + said + centres.astype("<f4").tobytes() + bounds.astype("<u8").tobytes()
        text += "".join(self.hashes).encode()
        self._file.write(text)
        self._file.seek(0)
        self._file.write(_HEAD.pack(_MAGIC, start, len(text), _core.hash_bytes(text).encode()))
        self._file.flush()

    def flush(self) -> None:
        """Make the written lists readable."""
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def block_starts(bounds: Any, width: int) -> Any:
    """The start of each list's block, and the end of the last one; int64 of shape (lists + 1,)."""
    import numpy as np

    sizes = (bounds[1:] - bounds[:-1]) * (_MEMBER + width)
    sizes += -sizes % _ALIGN
    return _HEAD.size + np.concatenate([[0], np.cumsum(sizes)])


def corrupt(path: str, problem: str) -> CorruptFileError:
    """The error for a damaged index."""
    return CorruptFileError(f"{path}: this index of vectors is damaged: {problem}; make it again")


def _footer(text: bytes) -> tuple[Facts, Lists]:
    """The facts and the lists that the text of a footer describes.

    Raises:
        ValueError: The text is not the footer of an index.
    """
    import numpy as np

    (spoken,) = _LENGTH.unpack_from(text)
    facts = Facts.parsed(text[_LENGTH.size : _LENGTH.size + spoken])
    lists, at = facts.lists, _LENGTH.size + spoken
    if len(text) != at + lists * (4 * facts.width + 8 + _HASH) + 8:
        raise ValueError("its arrays have another length")
    centres = np.frombuffer(text, "<f4", lists * facts.width, at).reshape(lists, facts.width)
    at += centres.nbytes
    bounds = np.frombuffer(text, "<u8", lists + 1, at)
    at += bounds.nbytes
    hashes = [text[at + i * _HASH : at + (i + 1) * _HASH].decode("ascii") for i in range(lists)]
    return facts, Lists(centres, bounds, hashes)


def _members(text: bytes) -> dict[str, Any]:
    value: Any = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("no object")  # noqa: TRY004 - about a file, not an argument
    return value  # pyright: ignore[reportUnknownVariableType]
