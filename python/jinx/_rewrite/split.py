"""`jinx.split`: divides a dataset into parts on disk."""

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isclose
from typing import TYPE_CHECKING, Any, Unpack, cast
from unicodedata import normalize

from jinx import _core
from jinx._arguments import require_type, whole_number
from jinx._convert.formats import format_of
from jinx._convert.options import Progress, documented
from jinx._dataset.selection import at
from jinx._directories import refuse_unlisted
from jinx._outputs import refuse_stdout
from jinx._results import SplitResult, WriteResult
from jinx._rewrite import assign_parts
from jinx._rewrite.inputs import opened
from jinx._rewrite.key_fingerprints import Missing, check_missing, checked_policy, hashes, key_paths, sizes
from jinx._rewrite.options import RewriteOptions
from jinx._rewrite.output import Output
from jinx._sizes import parse_size

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset

Path = str | os.PathLike[str]
Fractions = Mapping[str, float] | Sequence[float]

# A split with more parts than this is a mistake, such as one part for every id.
MAX_PARTS = 10_000
PREFIX = "part-"
# The maximum length of a part's name, without `.jinx`.
_NAME_BYTES = 216
_DIGITS = 4


@dataclass(frozen=True)
class Rule:
    """How samples are divided. Exactly one of the first five fields defines the parts; see `split`."""

    fractions: Fractions | None
    count: int | None
    samples: int | None
    size: int | str | None
    by: str | None
    stratify: str | None
    group: str | None
    seed: int | None
    missing: Missing
    prefix: str

    def check(self) -> None:
        """Refuse rules that cannot be followed.

        Raises:
            ValueError: A rule is invalid, or two rules contradict each other.
        """
        self._check_types()
        kinds = ("fractions", "count", "samples", "size", "by")
        given = [kind for kind in kinds if getattr(self, kind) is not None]
        if len(given) != 1:
            problem = f"{' and '.join(given)} were given" if given else "none was given"
            raise ValueError(f"say into which parts to split by one of {', '.join(kinds)}; {problem}")
        checked_policy(self.missing)
        if self.count is not None and self.count > MAX_PARTS:
            raise ValueError(f"count={self.count} is more than {MAX_PARTS:,} parts")
        if self.by is not None:
            for name in ("stratify", "group", "seed"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} has no meaning with by, which alone decides")
        if self.fractions is not None:
            shares = self._checked_shares()
            if any(not 0 <= share <= 1 for share in shares) or not isclose(sum(shares), 1, abs_tol=1e-6):
                raise ValueError(f"fractions={self.fractions!r} are not shares that add up to 1")
        self._check_meaning()

    def _check_types(self) -> None:
        for name in ("by", "stratify", "group"):
            require_type(name, getattr(self, name), str | None)
        require_type("size", self.size, int | str | None)
        require_type("prefix", self.prefix, str)

    def _check_meaning(self) -> None:
        """Refuse options that would have no effect."""
        if self.missing != "keep" and self.by is None and self.stratify is None and self.group is None:
            raise ValueError(f"missing={self.missing!r} has no meaning without by, stratify or group")
        if self.prefix != PREFIX and (self.by is not None or isinstance(self.fractions, Mapping)):
            raise ValueError(f"prefix={self.prefix!r} is for numbered parts; these have names of their own")

    def _checked_shares(self) -> list[float]:
        given: Any = self.fractions
        pairs: list[tuple[Any, Any]] = []
        if isinstance(given, Mapping):
            pairs = list(cast("Mapping[Any, Any]", given).items())
        elif isinstance(given, Iterable) and not isinstance(given, str | bytes):
            pairs = [("", share) for share in cast("Iterable[Any]", given)]
        if not all(isinstance(name, str) and _is_number(share) for name, share in pairs) or not pairs:
            raise TypeError(
                f"fractions={given!r}: give the shares as {{'train': 0.9, 'test': 0.1}}, or without names as [0.9, 0.1]"
            )
        return [share for _, share in pairs]

    def shares(self, total: int) -> list[float]:
        """The share of each part, if the rule has shares; `total` is the quantity that a limit refers to."""
        if self.fractions is not None:
            return list(self.fractions.values()) if isinstance(self.fractions, Mapping) else list(self.fractions)
        count = self.count if self.count is not None else max(ceil(total / self.limit()), 1)
        return [1 / count] * count

    def limit(self) -> int:
        """The samples or bytes of a part."""
        return self.samples if self.samples is not None else parse_size(self.size or 0)

    def names(self, parts: int) -> list[str]:
        """The names of parts that are not named after values."""
        if isinstance(self.fractions, Mapping):
            return list(self.fractions)
        return [f"{self.prefix}{i:0{_DIGITS}}" for i in range(parts)]


def _is_number(value: Any) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, bool)


@documented(RewriteOptions)
def split(
    source: Any,
    out: Path,
    *,
    fractions: Fractions | None = None,
    count: int | None = None,
    samples: int | None = None,
    size: int | str | None = None,
    by: str | None = None,
    stratify: str | None = None,
    group: str | None = None,
    seed: int | None = None,
    missing: Missing = "keep",
    prefix: str = PREFIX,
    progress: Progress | None = None,
    **options: Unpack[RewriteOptions],
) -> SplitResult:
    """Divide a dataset into parts, files in a directory that appears when all of them are complete.

        jinx.split("all.jinx", "parts", fractions={"train": 0.9, "test": 0.1}, group="document", seed=1)

    Every sample goes to exactly one part, where samples keep their order.

    Args:
        source: A dataset, a path or pattern, or a list of these, of any formats.
        out: The directory.
        fractions: The share of each part, with its name (`{"train": 0.9, "test": 0.1}`) or without (`[0.9, 0.1]`).
        count: The number of parts; their sizes differ by at most one sample.
        samples: Samples in each part; the last may have fewer.
        size: The approximate size of each part, in bytes or as `"1GB"`.
        by: Make a part for each value of this column or path, named after the value (with - for /).
        stratify: Give every part about the same shares of the values of this column or path.
        group: Samples with the same value of this column or path go to the same part, for instance all samples of a
            document; sizes and shares are met as nearly as whole groups allow.
        seed: Choose the samples or groups of a part at random; the same seed gives the same parts. Without a seed,
            parts are filled in the order of the samples.
        missing: Samples that have no value (or NaN) for `by`, `stratify` or `group`: `"keep"` them, as a part or
            stratum named null and as separate groups, `"drop"` them, or `"fail"`.
        prefix: The prefix of the names of numbered parts.
        progress: Called with samples, bytes written, and the expected bytes.
        **options: Any of the options below.

    Raises:
        FileExistsError: The directory exists, and `overwrite` is not set.
        KeyError: No sample has a column, or some samples lack it and `missing="fail"`.
        OSError: There is not enough room on the disk; this is checked before anything is written.
        ValueError: The rules contradict each other, or the output is one of the inputs.
    """
    count, samples = (
        None if value is None else whole_number(name, value, least=1)
        for name, value in (("count", count), ("samples", samples))
    )
    seed = None if seed is None else whole_number("seed", seed, least=0)
    rule = Rule(fractions, count, samples, size, by, stratify, group, seed, missing, prefix)
    rule.check()
    output = Output.of(out, options, progress)
    _refuse_one_file(output.path)
    with opened(source, output.path, options) as dataset:
        kept, lacking = _with_keys(dataset, rule)
        parts = _by_value(kept, rule.by) if rule.by is not None else _by_rule(kept, rule)
        if len(parts) > MAX_PARTS:
            raise ValueError(f"these are {len(parts):,} parts; at most {MAX_PARTS:,} are written")
        for name in parts:
            if not name or name.startswith(".") or "/" in name or "\0" in name:
                raise ValueError(f"a part cannot be named {name!r}: this is not the name of a file")
            if len(name.encode(errors="surrogatepass")) > _NAME_BYTES:
                raise ValueError(f"a part cannot be named {name[:40]!r}...: a name has at most {_NAME_BYTES} bytes")
        has_names = isinstance(fractions, Mapping) or by is not None
        written = _write(kept, parts, output, name_splits=has_names)
        return SplitResult(output.path, sum(part.samples for part in written), written, lacking)


def _refuse_one_file(out: str) -> None:
    """Refuse a name for the directory that stands for a single file.

    Raises:
        ValueError: The name has the suffix of a file format.
    """
    refuse_stdout(out)
    format = format_of(out)
    if format is not None:
        raise ValueError(
            f"{out}: this is the name of one {format} file, and parts are files in a directory; give a name without a "
            "suffix (--output-format says what they are)"
        )


def _with_keys(dataset: "Dataset", rule: Rule) -> "tuple[Dataset, int]":
    """The samples to divide, and the number of samples without a key."""
    names = [name for name in (rule.by, rule.stratify, rule.group) if name is not None]
    if not names:
        return dataset, 0
    import numpy as np

    paths = key_paths(dataset, names)
    is_missing = np.zeros(len(dataset), dtype=np.bool_)
    for path in paths:
        is_missing |= hashes(dataset, [path]) == 0
    count = int(is_missing.sum())
    check_missing(rule.missing, count, int(np.argmax(is_missing)) if count else 0, paths)
    if count and rule.missing == "drop":
        return at(dataset, np.flatnonzero(~is_missing)), count
    return dataset, count


def _by_rule(dataset: "Dataset", rule: Rule) -> "dict[str, Any]":
    """The positions of each part, for all rules except `by`."""
    import numpy as np

    weights = sizes(dataset) if rule.size is not None else np.ones(len(dataset), dtype=np.int64)
    strata = None
    if rule.stratify is not None:
        # Samples without a value form one stratum.
        strata = np.unique(hashes(dataset, key_paths(dataset, rule.stratify)), return_inverse=True)[1]
    has_limit = rule.samples is not None or rule.size is not None
    shares = [] if has_limit and strata is None else rule.shares(int(weights.sum()))
    if rule.group is None:
        order = assign_parts.order_of(len(dataset), rule.seed)
        if strata is not None:
            part_of = assign_parts.stratified(order, strata, shares)
        elif has_limit:
            part_of = assign_parts.by_limit(order, weights, rule.limit())
        else:
            part_of = assign_parts.by_shares(order, shares)
    else:
        groups, _ = assign_parts.numbered(hashes(dataset, key_paths(dataset, rule.group)))
        part_of = _of_groups(groups, weights, strata, shares, rule)[groups]
    parts = len(shares) or (int(part_of.max()) + 1 if len(part_of) else 1)
    return dict(zip(rule.names(parts), assign_parts.members(part_of, parts), strict=True))


def _of_groups(groups: Any, weights: Any, strata: Any, shares: list[float], rule: Rule) -> Any:
    """The part of each group."""
    import numpy as np

    order = assign_parts.order_of(int(groups.max()) + 1 if len(groups) else 0, rule.seed)
    if strata is not None:
        return assign_parts.grouped_and_stratified(order, groups, strata, shares)
    of_groups = np.bincount(groups, weights=weights, minlength=len(order)).astype(np.int64)
    return (
        assign_parts.grouped(order, of_groups, shares)
        if shares
        else assign_parts.by_limit(order, of_groups, rule.limit())
    )


def _by_value(dataset: "Dataset", by: str) -> "dict[str, Any]":
    """The positions of the samples with each value, in the order of their first samples."""
    import numpy as np

    (path,) = key_paths(dataset, by)
    keys = hashes(dataset, [path])
    # All samples without a value share one key.
    numbers, first = assign_parts.numbered(np.where(keys == 0, np.iinfo(np.uint64).max, keys))
    if len(first) > MAX_PARTS:
        raise ValueError(f"{by!r} has {len(first):,} different values; at most {MAX_PARTS:,} parts are written")
    parts: dict[str, Any] = {}
    if not len(first):
        return parts
    values: dict[str, Any] = {}
    samples = zip(first.tolist(), dataset.take(first, path[0]), assign_parts.members(numbers, len(first)), strict=True)
    for number, sample, chosen in samples:
        value = _value_at(sample, path)
        name = _value_name(value)
        if name in parts:
            raise ValueError(
                f"two values of {by!r}, {values[name]!r} and {value!r}, would give the part {name!r}; add a column of "
                "names that differ (ds.with_columns), and split by it"
            )
        if len(name.encode(errors="surrogatepass")) > _NAME_BYTES:
            raise ValueError(
                f"sample {number}: this value of {by!r} is longer than the {_NAME_BYTES} bytes of a part's name: "
                f"{name[:40]!r}..."
            )
        parts[name] = chosen
        values[name] = value
    return parts


def _value_at(sample: Any, path: list[str]) -> Any:
    value: Any = sample
    for name in path:
        value = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
    return value


def _value_name(value: Any) -> str:
    """The name of the part for a value, which is also a file name."""
    if value is None or value != value:  # noqa: PLR0124 - NaN counts as no value
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise TypeError(f"a part cannot be named after a value of type {type(value).__name__}")
    # The name must not point into another directory, and must not be hidden.
    name = str(value).replace("/", "-").replace("\0", "-")
    return f"-{name[1:]}" if name.startswith(".") else name or "-"


def _write(dataset: "Dataset", parts: "Mapping[str, Any]", output: Output, *, name_splits: bool) -> list[WriteResult]:
    """Write the parts to a directory that appears at the end."""
    total = output.require_space(dataset)
    written: list[WriteResult] = []
    refuse_unlisted(output.path)
    directory = _core.NewDirectory(output.path, overwrite=output.overwrite)
    try:
        _refuse_alike(parts, directory.path)
        for name, chosen in parts.items():
            file = name + output.suffix()
            view, named = at(dataset, chosen), output.named(name) if name_splits else output
            done = named.write_part(view, os.path.join(directory.path, file), written, total)  # noqa: PTH118
            written.append(replace(done, path=os.path.join(output.path, file)))  # noqa: PTH118
        directory.commit()
    finally:
        directory.abort()
    return written


def _refuse_alike(names: Iterable[str], directory: str) -> None:
    """Refuse names that this disk cannot tell apart, before hours of work.

    Raises:
        ValueError: Two names differ only in case or in the form of their characters, which the disk ignores.
    """
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(normalize("NFC", normalize("NFD", name).casefold()), name)
        if other != name and _is_one_file(directory, other, name):
            raise ValueError(
                f"the parts {other!r} and {name!r} would be one file on this disk, which ignores case; write to "
                "another disk, or add a column of names that differ (ds.with_columns), and split by it"
            )


def _is_one_file(directory: str, name: str, other_name: str) -> bool:
    with tempfile.TemporaryDirectory(dir=directory) as place:
        os.mkdir(os.path.join(place, name))  # noqa: PTH102, PTH118 - str in, str out
        return os.path.lexists(os.path.join(place, other_name))  # noqa: PTH118
