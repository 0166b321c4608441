"""The samples that a query keeps, as one bit for each sample of the dataset."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Samples = npt.NDArray[np.uint32]

# The number of samples whose bits are turned into numbers at a time.
_BLOCK = 1 << 16


class Kept:
    """A selection of a dataset's samples, in their order.

    Args:
        bits: Of sample `i`, bit `i % 8`, counted from the lowest, of byte `i // 8`.
        samples: The number of samples of the dataset.
    """

    def __init__(self, bits: "npt.NDArray[np.uint8]", samples: int) -> None:
        self.bits = bits
        self._samples = samples
        counts = [np.bitwise_count(bits[at : at + _BLOCK // 8]).sum() for at in range(0, len(bits), _BLOCK // 8)]
        # The number of kept samples up to the end of each block.
        self._ends = np.cumsum(counts or [0], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1])

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the selection takes."""
        return self.bits.nbytes + self._ends.nbytes

    def to_bytes(self) -> bytes:
        """The bits, for the core."""
        return self.bits.tobytes()

    def numbers(self, start: int, stop: int) -> "Samples":
        """The kept samples from the `start`th to before the `stop`th."""
        start, stop = max(0, start), min(stop, len(self))
        if start >= stop:
            return np.zeros(0, dtype=np.uint32)
        first, last = np.searchsorted(self._ends, [start, stop - 1], side="right").tolist()
        blocks = [self._block(block) for block in range(first, last + 1)]
        before = int(self._ends[first - 1]) if first else 0
        return np.concatenate(blocks)[start - before : stop - before]

    def _block(self, block: int) -> "Samples":
        bits = self.bits[block * _BLOCK // 8 : (block + 1) * _BLOCK // 8]
        return (np.flatnonzero(np.unpackbits(bits, bitorder="little")) + block * _BLOCK).astype(np.uint32)

    def place_of(self, sample: int) -> int | None:
        """The number of kept samples before this one; None if it is not kept itself."""
        if not 0 <= sample < self._samples or not self.bits[sample // 8] >> sample % 8 & 1:
            return None
        block = sample // _BLOCK
        before = int(self._ends[block - 1]) if block else 0
        return before + int(np.searchsorted(self._block(block), sample))


class Keeping:
    """Collects the bits of kept samples, as these are found one after another.

    Args:
        samples: The number of samples of the dataset.
    """

    def __init__(self, samples: int) -> None:
        self._bits = np.zeros(-(-samples // 8), dtype=np.uint8)
        self._samples = samples

    def add(self, numbers: "npt.NDArray[np.integer]") -> None:
        """Keep these samples, which ascend and come after those that were added before."""
        for start in range(0, len(numbers), _BLOCK):
            part = numbers[start : start + _BLOCK].astype(np.int64)
            places = part // 8
            # The samples are in ascending order, so those with bits in the same byte are adjacent.
            firsts = np.flatnonzero(np.diff(places, prepend=-1))
            bits = np.left_shift(1, part % 8).astype(np.uint8)
            self._bits[places[firsts]] |= np.bitwise_or.reduceat(bits, firsts)

    def kept(self) -> Kept:
        """The samples that were added so far."""
        return Kept(self._bits.copy(), self._samples)
