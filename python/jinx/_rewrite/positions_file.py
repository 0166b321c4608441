"""Reads and writes files of positions, which list samples of a dataset in an order.

A `.npy` file holds an array of uint64, as MLDataForge's index files do. A second array after it names the dataset;
readers of the first array do not see it. A `.json` file holds a list, or a dict with `positions`. Any other file holds
one position per line.
"""

import json
import os
from array import array
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from jinx import _core
from jinx._core import Reader
from jinx.errors import CorruptFileError, InvalidError, MismatchError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MAGIC = b"\x93NUMPY"
_COMMENT = "# positions of the dataset "


class Origin(NamedTuple):
    """The dataset that positions belong to.

    Attributes:
        id: Its id, which is the same for all datasets of the same samples; "" if it has none.
        samples: Its samples.
    """

    id: str
    samples: int

    @classmethod
    def of(cls, dataset: Reader) -> "Origin":
        """The origin of positions in this dataset or view."""
        roots, positions, _ = dataset._roots()
        if any(root.kind == "memory" for root in roots):
            return cls("", len(dataset))
        files = [entry for root in roots for entry in _identities(root)]
        if positions is not None and not _is_identity(positions, sum(samples for samples, _ in files)):
            files.append((len(dataset), _core.hash_bytes(positions)))
        return cls(_core.hash_bytes(json.dumps(files, separators=(",", ":")).encode()), len(dataset))


class Positions(NamedTuple):
    """The content of a file of positions.

    Attributes:
        values: int64 of shape (n,).
        origin: The dataset that the positions belong to, if the file names it.
    """

    values: "npt.NDArray[np.int64]"
    origin: Origin | None

    def within(self, dataset: Reader, path: str) -> "npt.NDArray[np.int64]":
        """The positions, checked against a dataset.

        Raises:
            IndexError: A position is out of range.
            MismatchError: The file was written for another dataset.
        """
        if self.origin is not None:
            current = Origin.of(dataset)
            if self.origin.samples != current.samples or (
                self.origin.id and current.id and self.origin.id != current.id
            ):
                raise MismatchError(
                    f"{path}: these positions are of another dataset (id {self.origin.id or 'unknown'}, "
                    f"{self.origin.samples:,} samples), not of this one (id {current.id or 'unknown'}, "
                    f"{current.samples:,})"
                )
        if len(self.values):
            low, high = int(self.values.min()), int(self.values.max())
            if low < 0 or high >= len(dataset):
                bad = low if low < 0 else high
                raise IndexError(f"{path}: position {bad} is out of range for {len(dataset):,} samples")
        return self.values


def _identities(root: _core.Rows) -> list[tuple[int, str]]:
    """The number of samples and id of each file; without an id, a hash of the content, which copies share."""
    if root.kind == "mds":
        return root.base_ids()
    identities = root.identities()
    # The replacement for a missing id contains a time, which a copy does not keep.
    return [
        (samples, root.content_hash(i) if "-" in identity else identity)
        for i, (samples, identity) in enumerate(identities)
    ]


def _is_identity(positions: bytes, samples: int) -> bool:
    import numpy as np

    values = np.frombuffer(positions, dtype="<u8")
    return len(values) == samples and bool((values == np.arange(samples, dtype="<u8")).all())


def read_positions(path: str | os.PathLike[str]) -> Positions:
    """The positions in a file.

    Raises:
        CorruptFileError: The file is not a file of positions; the message names the place.
    """
    name = os.fsdecode(path)
    with open(name, "rb") as file:  # noqa: PTH123 - str in
        begin = file.read(len(_MAGIC))
    if begin == _MAGIC:
        return _from_npy(name)
    if begin.startswith(b"PK"):
        raise CorruptFileError(f"{name}: this is a ZIP archive; positions are one array (numpy.save, not savez)")
    if name.lower().endswith(".json") or begin[:1] in {b"[", b"{"}:
        return _from_json(name)
    return _from_text(name)


def _from_npy(path: str) -> Positions:
    import numpy as np

    try:
        # Memory-mapped, so that a header which claims more values than the file holds reserves no memory.
        values = np.load(path, mmap_mode="r", allow_pickle=False)
        with open(path, "rb") as file:  # noqa: PTH123
            np.lib.format.read_magic(file)
            file.seek(values.offset + values.nbytes)
            origin = _origin_behind(file)
    except Exception as error:  # noqa: BLE001 - numpy parses the header as Python code, which can fail in many ways
        raise CorruptFileError(f"{path}: this is not an array of positions: {error}") from None
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise CorruptFileError(f"{path}: positions are one row of integers, not {values.dtype} of shape {values.shape}")
    if values.dtype == np.uint64 and len(values) and int(values.max()) > np.iinfo(np.int64).max:
        raise CorruptFileError(f"{path}: position {values.max()} is beyond every dataset")
    return Positions(np.array(values, dtype=np.int64), origin)


def _origin_behind(file: Any) -> Origin | None:
    """The origin, a second array after the positions, if jinx wrote the file."""
    import numpy as np

    if file.read(len(_MAGIC)) != _MAGIC:
        return None
    file.seek(-len(_MAGIC), os.SEEK_CUR)
    array = np.load(file, allow_pickle=False)
    try:
        return _origin(json.loads(array.tobytes()))
    except ValueError:
        return None


def _origin(said: Any) -> Origin | None:
    if not isinstance(said, dict):
        return None
    dataset, samples = said.get("dataset"), said.get("samples")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    is_ours = isinstance(dataset, str) and isinstance(samples, int)
    return Origin(dataset, samples) if is_ours else None  # pyright: ignore[reportArgumentType]


def _from_json(path: str) -> Positions:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        try:
            said: Any = json.load(file)
        except ValueError as error:
            if _core.sniff(path)[0] in {"a JINX file", "a JSON Lines file"}:
                message = "this is a dataset, not a file of positions (.npy, .json, or one position in each line)"
                raise CorruptFileError(f"{path}: {message}") from None
            raise CorruptFileError(f"{path}: this is not JSON: {error}") from None
    values: Any = said.get("positions") if isinstance(said, dict) else said  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(values, list):
        raise CorruptFileError(f"{path}: positions are a list, or a dict with a list of that name")
    for i, value in enumerate(values):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if type(value) is not int:  # pyright: ignore[reportUnknownArgumentType] - True is not a position
            raise CorruptFileError(f"{path}: element {i} is {value!r}, not a position")
    return Positions(_array(path, values), _origin(said))


def _from_text(path: str) -> Positions:
    values, origin = array("q"), None
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        for number, line in enumerate(file, start=1):
            text = line.strip()
            if text.startswith(_COMMENT):
                id_, _, samples = text.removeprefix(_COMMENT).partition(" with ")
                digits = samples.partition(" ")[0]
                origin = Origin(id_.strip("-"), int(digits)) if digits.isdecimal() else None
            elif text and not text.startswith("#"):
                try:
                    values.append(int(text))
                except (ValueError, OverflowError):
                    raise CorruptFileError(f"{path}: line {number} is {text[:40]!r}, not a position") from None
    return Positions(_array(path, values), origin)


def _array(path: str, values: Any) -> "npt.NDArray[np.int64]":
    import numpy as np

    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        raise CorruptFileError(f"{path}: a position is beyond every dataset") from None


def write_positions(path: str | os.PathLike[str], values: Any, origin: Origin | None) -> None:
    """Write positions to a file that appears when it is complete; its suffix selects the format.

    Args:
        path: The file; an existing file is replaced.
        values: Integers of shape (n,).
        origin: The dataset whose samples they are.
    """
    with appearing_after(os.fsdecode(path), values, origin):
        pass


@contextmanager
def appearing_after(path: str, values: Any, origin: Origin | None) -> Generator[None]:
    """Like `write_positions`, but the file appears only if the `with` block succeeds."""
    if not os.path.basename(path):  # noqa: PTH119
        raise InvalidError(f"{path}: this is not the name of a file")
    file = _core.NewFile(path, _encoded(path, values, origin))
    try:
        yield
        file.commit()
    finally:
        file.abort()


def _encoded(name: str, values: Any, origin: Origin | None) -> bytes:
    """The bytes of a file of positions; the suffix of the name selects the format."""
    import numpy as np

    array_ = np.asarray(values)
    said = None if origin is None else {"dataset": origin.id, "samples": origin.samples}
    if name.lower().endswith(".npy"):
        out = BytesIO()
        np.save(out, array_.astype("<u8"))
        if said is not None:
            np.save(out, np.frombuffer(json.dumps(said).encode(), dtype=np.uint8))
        return out.getvalue()
    if name.lower().endswith(".json"):
        return (json.dumps({**(said or {}), "positions": array_.tolist()}, separators=(",", ":")) + "\n").encode()
    comment = "" if origin is None else f"{_COMMENT}{origin.id or '-'} with {origin.samples} samples\n"
    return (comment + "".join(f"{value}\n" for value in array_.tolist())).encode()
