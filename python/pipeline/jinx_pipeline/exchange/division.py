"""How the keys of an operator are divided among tasks."""

from dataclasses import dataclass

from jinx_pipeline.exchange.key_file import KeyFiles

# More opens than this are avoided where each would read less than so many bytes.
_MANY_OPENS = 10_000
_FEW_BYTES = 65_536
# Files that a task merges are open at the same time.
_MERGED_FILES = 256
# Where partitions are split, the keys of one kind are in memory: as much as they take when they are looked at.
_BYTES_OF_A_KEY = 64


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
    keys = max(sum(header.keys for header in both.headers()) for both in (files, other))
    needed = max(-(-keys // kinds // most), 1)
    split = max(-(-needed // partitions), 1)
    looks = min(needed, partitions * split)
    opens = (len(files) + len(other)) * looks * kinds
    read = sum(files.sizes() + other.sizes()) / max(opens, 1)
    if split == 1 and (opens <= _MANY_OPENS or read >= _FEW_BYTES):
        return Division(kinds, partitions, 1, looks)
    return Division(kinds, partitions, split, looks, _runs(files, most * kinds), _runs(other, most * kinds))


def _runs(files: KeyFiles, most: int) -> tuple[int, ...]:
    """Bounds of groups of files that have so many keys together, none of them too large for memory."""
    if not len(files):
        return ()
    bounds, keys, size = [0], 0, 0
    for at, (header, file_size) in enumerate(zip(files.headers(), files.sizes(), strict=True)):
        is_full = keys + header.keys > most or size + file_size > most * _BYTES_OF_A_KEY
        if at > bounds[-1] and (is_full or at - bounds[-1] == _MERGED_FILES):
            bounds.append(at)
            keys = size = 0
        keys += header.keys
        size += file_size
    return (*bounds, len(files))
