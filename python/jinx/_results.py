"""Results of calls on whole datasets: frozen records with `.to_dict()`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


class Result:
    """The base of the records: `to_dict()` for JSON and tables."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The same as a plain dict."""
        return asdict(self)  # pyright: ignore[reportArgumentType] - all subclasses are dataclasses


@dataclass(frozen=True, slots=True)
class WriteResult(Result):
    """The output of `convert`, `Writer.close` or `merge`.

    Attributes:
        path: The output.
        samples: Samples in it.
        shards: Files of samples; sidecars do not count.
        bytes: Bytes of all files, sidecars included.
        sidecar_bytes: Bytes of the sidecars.
        skipped: Samples that were left out because they cannot be read or written (`on_error="skip"`).
    """

    path: str
    samples: int
    shards: int = 1
    bytes: int = 0
    sidecar_bytes: int = 0
    skipped: int = 0

    @classmethod
    def of(cls, path: str, done: Mapping[str, int]) -> "WriteResult":
        """Make a result from the numbers that the core returns."""
        counts = {name: done.get(name, 0) for name in ("bytes", "sidecar_bytes", "skipped")}
        return cls(path, done["rows"], done.get("shards", 1), **counts)

    def plus(self, other: "WriteResult") -> "WriteResult":
        """The sum of two results, under the path of the first."""
        return WriteResult(
            self.path,
            self.samples + other.samples,
            self.shards + other.shards,
            self.bytes + other.bytes,
            self.sidecar_bytes + other.sidecar_bytes,
            self.skipped + other.skipped,
        )


@dataclass(frozen=True, slots=True)
class OrderResult(Result):
    """The output of `shuffle` or `sort`.

    Attributes:
        path: The output.
        samples: Samples in it.
        shards: Files of samples; sidecars do not count.
        bytes: Bytes of all files, sidecars included.
        sidecar_bytes: Bytes of the sidecars.
        plan: `"one pass"`, `"two passes"` (with temporary files), or `"view"`.
        temporary_bytes: Bytes of the temporary files.
        missing: Samples that lack a sort key.
        seed: The seed of a shuffle.
        seconds: How long it took.
    """

    path: str
    samples: int
    shards: int
    bytes: int
    sidecar_bytes: int
    plan: Literal["one pass", "two passes", "view"]
    temporary_bytes: int
    missing: int
    seed: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class SplitResult(Result):
    """The output of `split`.

    Attributes:
        path: The directory of the parts.
        samples: Samples in all parts together.
        parts: The parts, in order.
        missing: Samples without a key (`by`, `group` or `stratify`).
    """

    path: str
    samples: int
    parts: list[WriteResult]
    missing: int = 0


@dataclass(frozen=True, slots=True)
class DedupResult(Result):
    """The output of `dedup`.

    Attributes:
        path: The output.
        samples: Samples that were kept.
        duplicates: Samples that were left out, because an earlier one is the same.
        missing: Samples without a key.
        shards: Files of samples; sidecars do not count.
        bytes: Bytes of all files, sidecars included.
        sidecar_bytes: Bytes of the sidecars.
    """

    path: str
    samples: int
    duplicates: int
    missing: int = 0
    shards: int = 1
    bytes: int = 0
    sidecar_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CompactResult(Result):
    """The output of `compact`.

    Attributes:
        path: The output.
        samples: Samples in it.
        shards: Its files of samples; sidecars do not count.
        shards_before: The files of samples of the input.
        bytes: Bytes of all files, sidecars included.
        sidecar_bytes: Bytes of the sidecars.
    """

    path: str
    samples: int
    shards: int
    shards_before: int
    bytes: int = 0
    sidecar_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Problem(Result):
    """One problem that `verify` found.

    Attributes:
        file: The file.
        sample: Number of the sample in its file, if the problem concerns one.
        column: The column, or the path inside it, if the problem concerns one.
        byte: The byte in the file, if known.
        cause: `"corrupt"`, `"truncated"`, `"limit"`, `"unsupported"` or `"mismatch"`.
        what: What is wrong, in words.
    """

    file: str
    sample: int | None
    column: str | None
    byte: int | None
    cause: str
    what: str


@dataclass(frozen=True, slots=True)
class RepairResult(Result):
    """The output of `repair`.

    Attributes:
        samples: Samples in the file, damaged ones included.
        kept: Samples that are intact.
        unchecked: Kept samples that could not be compared with a checksum, because the file has none that can be read.
        lost: One entry for each loss: `line`, `bytes` and `reason`.
        damage: Other damage of the file.
        out: The new file; None for a dry run.
    """

    samples: int
    kept: int
    unchecked: int
    lost: list[dict[str, Any]]
    damage: list[str]
    out: str | None


@dataclass(frozen=True, slots=True)
class ColumnInfo(Result):
    """One column of a dataset.

    Attributes:
        name: Its name.
        type: Its type in words: `"str"`, `"bytes (image/jpeg)"`, `"float or None"`.
        counts: How many values of each kind there are.
        binary_values: Values that are stored as bytes.
        stored_bytes: Bytes that these values take.
        decoded_bytes: Bytes of these values after decompression.
    """

    name: str
    type: str
    counts: dict[str, int] = field(default_factory=dict[str, int])
    binary_values: int = 0
    stored_bytes: int = 0
    decoded_bytes: int = 0


@dataclass(frozen=True, slots=True)
class IndexedInfo(Result):
    """A column or path in the index, for sorting and filtering without reading rows.

    Attributes:
        path: Its name, or its dotted path.
        kind: `"value"` or `"length"`.
        dtype: The dtype of the numbers; `"utf8"` for strings.
    """

    path: str
    kind: str
    dtype: str


@dataclass(frozen=True, slots=True)
class BaseInfo(Result):
    """A dataset that a saved view shows.

    Attributes:
        path: Its current path.
        kind: `"pair"` (one `.jinx` file), `"directory"` (of shards), `"mds"` or `"jsonl"`.
        id: The id by which the view knows it.
        samples: Its samples.
        selected: The number of its samples that the view shows; a sample that is shown twice counts once.
        bytes: Bytes of all its files, sidecars included.
        location: Its URL, if the view has one.
        version: The ETag or revision at the URL when the view was saved.
    """

    path: str
    kind: str
    id: str
    samples: int
    selected: int
    bytes: int
    location: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class DatasetInfo(Result):
    """Facts about a dataset, found without reading its samples.

    Attributes:
        path: The file as it was named, or the directory and number of the shards.
        format: `"jinx"`, `"jsonl"` (plain JSON lines) or `"mds"`.
        version: The version of the format; None if the files do not record it.
        writer: The program that wrote it; None if the files do not record it.
        shards: Files of samples.
        samples: Samples in this view.
        samples_in_files: Samples in the files.
        bytes: Bytes of rows and index; of a saved view, those of its own file.
        sidecar_bytes: Bytes of the sidecars; of a saved view, those of its own columns.
        split: The split's name, if all files have the same one.
        columns: The columns.
        indexed: Columns and paths that the index holds.
        checksums: What checksums protect.
        needs_1_1: Features that readers of JINX 1.0 report as an error.
        has_arrow_schema: Whether it keeps the schema of the Arrow or Parquet data it came from.
        ids: The id of each shard; None for a file without an id.
        meta: The `meta` that its writer stored in the footer.
        compression: For MDS, the codecs of the shards.
        bases: The datasets that a saved view shows.
        own_columns: Columns that a view has next to those of the files.
        has_positions: Whether a saved view stores which samples it shows; otherwise it shows all, in their order.
    """

    path: str
    format: str
    version: str | None
    writer: str | None
    shards: int
    samples: int
    samples_in_files: int
    bytes: int
    sidecar_bytes: int
    split: str | None
    columns: list[ColumnInfo]
    indexed: list[IndexedInfo]
    checksums: list[str]
    needs_1_1: list[str]
    has_arrow_schema: bool
    ids: list[str | None]
    meta: dict[str, Any]
    compression: list[str] = field(default_factory=list[str])
    bases: list[BaseInfo] = field(default_factory=list[BaseInfo])
    own_columns: list[str] = field(default_factory=list[str])
    has_positions: bool = False
