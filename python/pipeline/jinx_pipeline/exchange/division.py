"""How the keys of an operator are divided among tasks."""

from collections.abc import Sequence
from dataclasses import dataclass

from jinx_pipeline.exchange.key_file import Header, KeyFiles

# More opens than this are avoided where each would read less than so many bytes.
_MANY_OPENS = 10_000
_FEW_BYTES = 65_536
# Files that a task merges are open at the same time.
_MERGED_FILES = 256


@dataclass(frozen=True)
class Division:
    """How the keys in some files are divided.

    Attributes:
        kinds: The keys that a sample has; a task looks at one of them.
        partitions: Of each kind of key, in the files that map tasks wrote.
        split: Into how many each partition is divided while files are merged.
        looks: Tasks for each kind of key; each reads consecutive partitions.
        runs: Where the files begin that are merged into one, and the number of files; empty: no files are merged.
        other_runs: The same for the files of a second dataset.
    """

    kinds: int
    partitions: int
    split: int
    looks: int
    runs: tuple[int, ...] = ()
    other_runs: tuple[int, ...] = ()

    def sections(self, look: int) -> tuple[int, int]:
        """The first section that a task reads, and the first that it does not."""
        kind, at = divmod(look, self.looks)
        partitions = self.partitions * self.split if self.runs else self.partitions
        first = kind * partitions
        return first + at * partitions // self.looks, first + (at + 1) * partitions // self.looks


def divide(files: KeyFiles, other: KeyFiles, *, kinds: int, partitions: int, most: int) -> Division:
    """Divide keys among tasks, after they were written.

    Each look opens each file once: files x looks opens. Where that is many and each reads little, files are merged
    first, in tasks that read each file once. So are partitions that have become larger than a task takes.

    Args:
        files: The keys of the samples.
        other: Those of a second dataset.
        kinds: The keys that a sample has.
        partitions: Of each kind of key, in the files.
        most: How many keys a task takes.
    """
    headers, of_other = files.headers(), other.headers()
    keys = max(sum(one.keys for one in both) for both in (headers, of_other))
    needed = max(-(-keys // kinds // most), 1)
    split = max(-(-needed // partitions), 1)
    looks = min(needed, partitions * split)
    opens = (len(files) + len(other)) * looks * kinds
    read = (files.byte_count() + other.byte_count()) / max(opens, 1)
    if split == 1 and (opens <= _MANY_OPENS or read >= _FEW_BYTES):
        return Division(kinds, partitions, 1, looks)
    return Division(kinds, partitions, split, looks, _runs(headers, most * kinds), _runs(of_other, most * kinds))


def _runs(headers: Sequence[Header], most: int) -> tuple[int, ...]:
    """Bounds of groups of files that have so many keys together."""
    if not headers:
        return ()
    bounds, keys = [0], 0
    for at, header in enumerate(headers):
        if at > bounds[-1] and (keys + header.keys > most or at - bounds[-1] == _MERGED_FILES):
            bounds.append(at)
            keys = 0
        keys += header.keys
    return (*bounds, len(headers))
