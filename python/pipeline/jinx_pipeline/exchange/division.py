"""How the keys of an operator are divided among tasks."""

from dataclasses import dataclass

from jinx_pipeline.exchange.key_file import KeyFiles

# Files are merged if there would be more than `_MANY_OPENS` opens, each to read fewer than `_FEW_BYTES`.
_MANY_OPENS = 10_000
_FEW_BYTES = 65_536
# The maximum number of files that a merge task has open at the same time.
_MERGED_FILES = 256
# A task that splits partitions holds the keys of one kind in memory; each key takes this many bytes.
_BYTES_PER_KEY = 64


@dataclass(frozen=True)
class Division:
    """How the keys in some files are divided among tasks.

    Attributes:
        kinds: The number of keys of a sample; a task reads keys of one kind.
        partitions: Partitions of each kind of key, in the files of map tasks.
        split: The number of partitions into which a merge divides each partition.
        looks: Tasks for each kind of key; each reads consecutive partitions.
        runs: The index of the first file of each merge, and the number of files; empty if no files are merged.
        other_runs: The same for the files of a second dataset.
    """

    kinds: int
    partitions: int
    split: int
    looks: int
    runs: tuple[int, ...] = ()
    other_runs: tuple[int, ...] = ()

    def sections(self, look: int) -> tuple[int, int]:
        """The start and end of the sections that a task reads."""
        kind, number = divmod(look, self.looks)
        partitions = self.partitions * self.split if self.runs else self.partitions
        first = kind * partitions
        return first + number * partitions // self.looks, first + (number + 1) * partitions // self.looks


def divide(files: KeyFiles, other: KeyFiles, *, kinds: int, partitions: int, max_keys: int) -> Division:
    """Divide keys among tasks, after they were written.

    Each look opens each file once, so the number of opens is the number of files times the number of looks. If there
    would be many opens for small reads, files are merged first, in tasks that read each file once. Merges also split
    partitions that are too large for a task.

    Args:
        files: The keys of the samples.
        other: The keys of a second dataset.
        kinds: The number of keys of a sample.
        partitions: Partitions of each kind of key, in the files.
        max_keys: How many keys a task can hold.
    """
    keys = max(sum(header.keys for header in key_files.headers()) for key_files in (files, other))
    needed = max(-(-keys // kinds // max_keys), 1)
    split = max(-(-needed // partitions), 1)
    looks = min(needed, partitions * split)
    opens = (len(files) + len(other)) * looks * kinds
    read = sum(files.sizes() + other.sizes()) / max(opens, 1)
    if split == 1 and (opens <= _MANY_OPENS or read >= _FEW_BYTES):
        return Division(kinds, partitions, 1, looks)
    return Division(kinds, partitions, split, looks, _runs(files, max_keys * kinds), _runs(other, max_keys * kinds))


def _runs(files: KeyFiles, max_keys: int) -> tuple[int, ...]:
    """The bounds of groups of files. The keys of a group fit into memory, and the number of its files is limited."""
    if not len(files):
        return ()
    bounds, keys, size = [0], 0, 0
    for number, (header, file_size) in enumerate(zip(files.headers(), files.sizes(), strict=True)):
        is_full = keys + header.keys > max_keys or size + file_size > max_keys * _BYTES_PER_KEY
        if number > bounds[-1] and (is_full or number - bounds[-1] == _MERGED_FILES):
            bounds.append(number)
            keys = size = 0
        keys += header.keys
        size += file_size
    return (*bounds, len(files))
