"""`jinx.sort`; keys are sorted in `rust/jinx-order/src/sort.rs`."""

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, Literal, Unpack

from jinx import _core
from jinx._arguments import require_type, texts, worker_number
from jinx._convert.options import documented
from jinx._dataset.columns import column_names, parse_name, require_path
from jinx._dataset.dataset import Dataset
from jinx._dataset.sort_order import parse_key
from jinx._order.key_values import alike, checked_key, keys_in
from jinx._order.rewrite import Job, Progress, Source, write
from jinx._remote_output import also_to_urls
from jinx._results import OrderResult
from jinx._rewrite.options import OrderOptions

Missing = Literal["last", "drop", "fail"]
Descending = bool | Sequence[bool]

_BLOCK = 8192


@documented(OrderOptions)
@also_to_urls
def sort(
    source: Source,
    out: str | os.PathLike[str],
    *,
    by: str | Sequence[str] | Callable[[Any], Any] | None = None,
    code: str | None = None,
    descending: Descending = False,
    natural: bool = False,
    missing: Missing = "last",
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[OrderOptions],
) -> OrderResult:
    """Write a dataset sorted by one or more keys.

    Samples are copied as they are stored; samples with equal keys keep their order. Keys that are in the index are
    taken from it, otherwise the rows are read once. Keys that do not fit into the memory are sorted in files.

        jinx.sort("train.jinx", "sorted.jinx", by=["source", "-len(messages)"])

    Args:
        source: As for `jinx.shuffle`.
        out: As for `jinx.shuffle`.
        by: A column, a dotted path (`meta.width`), `len(path)`, or several of them; a `-` before one sorts it in
            descending order. Or a function of a sample that returns a number, a string, None, or a tuple of them,
            called in this process.
        code: `FILE.py:FUNCTION` instead of `by`: a key function from a file, called in worker processes.
        descending: Reverse the order; for several keys, one bool for each.
        natural: Numbers within strings count as numbers: `img9` comes before `img10`.
        missing: Samples without a key (None, NaN, no such column): `"last"` puts them at the end in both directions,
            `"drop"` leaves them out, and `"fail"` refuses them.
        workers: Processes for `code`; by default one for each core.
        progress: As for `jinx.shuffle`.
        **options: Any of the options below.

    Raises:
        FileExistsError: The output exists.
        KeyError: No sample has such a column or path.
        OSError: There is not enough room for the output and the temporary files.
        TypeError: The function returns a value that is not a key.
        ValueError: The output is also an input; a key is a number in one sample and a string in another (the message
            names both); or keys are missing, with `missing="fail"`.
    """
    if (by is None) == (code is None):
        raise ValueError("give the keys as by=... or as code='file.py:function'")
    if missing not in {"last", "drop", "fail"}:
        raise ValueError(f"missing={missing!r} is not known; use 'last', 'drop' or 'fail'")
    require_type("code", code, str | None)
    require_type("natural", natural, bool)
    if workers is not None:
        workers = worker_number("workers", workers, least=1)
        if code is None:
            raise ValueError("workers has no meaning without code: a function of your process is called in it")
    names = None if by is None or callable(by) else texts("by", by)
    if names is not None and not names:
        raise ValueError("by is empty; name a column, a path or len(path)")
    flips = _flips(descending)
    job = Job.of(source, out, options, progress)
    keys = _Keys(job, descending=flips, natural=natural, missing=missing)
    if code is not None:
        from jinx._order.code_keys import in_processes

        ordering, lacking = keys.of_values(in_processes(job.dataset, code, workers))
    elif callable(by):
        ordering, lacking = keys.of_values(_in_blocks(job.dataset, by))
    else:
        ordering, lacking = keys.of_paths(names or [])
    if missing == "fail" and lacking:
        raise ValueError(
            f"{lacking:,} of {len(job.dataset):,} samples lack a sort key; missing='last' (--missing last) puts them "
            "at the end, 'drop' leaves them out"
        )
    return write(job, ordering, missing=lacking)


def _flips(descending: Descending) -> bool | list[bool]:
    """Whether to reverse the order, for all keys or for each.

    Raises:
        TypeError: `descending` is neither a bool nor a list of bools.
    """
    if isinstance(descending, bool):
        return descending
    if isinstance(descending, str) or not isinstance(descending, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        require_type("descending", descending, bool)
    flips = list(descending)
    for flip in flips:
        require_type("an entry of descending", flip, bool)
    return flips


class _Keys:
    """Collects the keys of all samples and sorts them."""

    def __init__(self, job: Job, *, descending: bool | list[bool], natural: bool, missing: Missing) -> None:
        self.job = job
        self.descending = descending
        self.natural = natural
        self.missing = missing

    def _sorter(self, reversed_keys: Sequence[bool]) -> _core.SortKeys:
        """A sorter for keys; a `-` before a key already reverses it."""
        given = self.descending
        flips = [given] * len(reversed_keys) if isinstance(given, bool) else given
        if len(flips) != len(reversed_keys):
            raise ValueError(f"descending has {len(flips)} entries for {len(reversed_keys)} keys")
        directions = [(own != flip, self.natural) for own, flip in zip(reversed_keys, flips, strict=True)]
        # Half of the memory is for the keys, and half for the lists that are made from them.
        return _core.SortKeys(directions, self.job.folder, self.job.memory // 2, self.missing == "drop")

    def of_paths(self, names: list[str]) -> tuple[_core.Ordering, int]:
        dataset = self.job.dataset
        parsed = [parse_key(name, column_names(dataset)) for name in names]
        # Without samples, any column may exist.
        is_empty = not len(dataset)
        paths = [_core.parse_path(name) if is_empty else parse_name(dataset, name) for name, _, _ in parsed]
        kinds = ["length" if is_length else "value" for _, is_length, _ in parsed]
        keys = self._sorter([is_descending for _, _, is_descending in parsed])
        existing = keys.add_paths(dataset, list(zip(paths, kinds, strict=True)))
        for path, exists in zip(paths, existing, strict=True):
            if not is_empty:
                require_path(dataset, path, exists=exists)
        return keys.finish()

    def of_values(self, blocks: Iterable[list[Any]]) -> tuple[_core.Ordering, int]:
        blocks = iter(blocks)
        first = next(blocks, list[Any]())
        count = keys_in(first[0]) if first else 1
        keys = self._sorter([False] * count)
        for block in alike(chain([first], blocks), count):
            keys.add_values(block)
        return keys.finish()


def _in_blocks(dataset: Dataset, function: Callable[[Any], Any]) -> Iterable[list[Any]]:
    block: list[Any] = []
    for i, sample in enumerate(dataset):
        block.append(checked_key(function(sample), i))
        if len(block) == _BLOCK:
            yield block
            block = []
    yield block
