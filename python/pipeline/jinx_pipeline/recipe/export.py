"""What a recipe says about an output."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_type_hints

from jinx._sizes import parse_size
from jinx_pipeline.operators.api.parameters import fitted

ExportKind = Literal["jinx", "view", "jsonl", "parquet", "mds", "webdataset"]


@dataclass(frozen=True)
class Export:
    """The output of a recipe.

    Attributes:
        path: The path.
        kind: The format; `view` is a saved view over the input, which copies no samples.
        shard_size: Size of the shards of a directory, `"512MB"` or bytes; None: the output of a block, or of several
            blocks up to 16 MB. Not allowed for a single file.
        keep_stats: Whether the statistics of filters stay under `__dj__stats__`.
        overwrite: Replace an existing output.
        typed_stats: In a view, store each statistic that is a number or a bool as a column `__dj__stats__.NAME` of its
            own, an array of 8 bytes or 1 byte a sample, in place of a member of `__dj__stats__`. Columns, filters and
            orders name both alike, but samples then have no dict `__dj__stats__`, for which other programs look. With
            five statistics of 100,000 samples, a sample takes 41 bytes in place of 200, a filter 1/30 of the time and
            a column 1/700; publishing takes 6 to 9 microseconds a sample more.
        append: Add to an existing directory of shards: a new version of it has its samples and those of this run.
    """

    path: str
    kind: ExportKind = "jinx"
    shard_size: int | str | None = None
    keep_stats: bool = True
    overwrite: bool = False
    typed_stats: bool = False
    append: bool = False

    def __post_init__(self) -> None:
        fit_fields(self)
        if self.append and self.overwrite:
            raise ValueError(f"{self.path}: append adds to an existing output, and overwrite replaces it; choose one")
        if self.append and not self.is_directory:
            raise ValueError(f"{self.path}: append is for a directory of JINX shards; leave out the suffix")
        if self.typed_stats and (self.kind != "view" or not self.keep_stats):
            raise ValueError(f"{self.path}: typed_stats is for the statistics of a view: kind: view and keep_stats")
        if self.shard_size is None:
            return
        if self.kind == "view" or (self.kind == "jinx" and self.path.endswith(".jinx")):
            raise ValueError(
                f"{self.path}: shard_size is for a directory of shards, and this is one file; leave it out"
            )
        parse_size(self.shard_size)

    @property
    def is_directory(self) -> bool:
        """Whether the output is a directory of shards, to which more can be appended."""
        return self.kind == "jinx" and not self.path.endswith(".jinx")

    @property
    def described(self) -> dict[str, Any]:
        """Everything that determines the samples of the output, as plain data."""
        facts = {**asdict(self), "overwrite": None}
        del facts["append"]
        return facts


def fit_fields(instance: Any) -> None:
    """Convert the fields of a dataclass instance to their types.

    Raises:
        TypeError: A value does not have the type of its field.
    """
    for name, kind in get_type_hints(type(instance)).items():
        try:
            object.__setattr__(instance, name, fitted(getattr(instance, name), kind))
        except TypeError as error:
            raise TypeError(f"{name} {error}") from None
