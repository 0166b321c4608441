"""Writes MDS directories byte for byte as Streaming does (`rust/jinx-mds/src/write`), and merges their indexes."""

import json
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from jinx import _core
from jinx._outputs import writable_name
from jinx._results import WriteResult
from jinx._sizes import parse_size
from jinx.errors import InvalidError, JinxError, MismatchError
from jinx.mds._directories import INDEX, Source
from jinx.mds._encoding import encoder_of

_IGNORED = {"keep_local", "progress_bar", "retry"}


class MDSWriter:
    """Writes samples to a directory of shards, which appears as a whole when the writer is closed.

    Options and results are those of Streaming's writer, with these differences: if the `with` block raises, nothing is
    published; a directory that holds anything but an MDS dataset is never removed; `compression="sample::zstd"`
    compresses each sample separately; and several threads compress and hash shards.

    Args:
        columns: The encoding of each column.
        out: A local directory.
        compression: `"zstd"`, `"gz"`, `"bz2"`, `"br"` or `"snappy"` for whole shards, `"zstd:7"` with a level, and
            `"sample::..."` for samples.
        hashes: Algorithms; the index keeps the hashes of every file.
        size_limit: Close a shard at this size in bytes (or `"64mb"`); None writes a single shard.
        exist_ok: Replace an existing MDS dataset.
        max_workers: Threads; by default one for each core.
        options: `keep_local`, `progress_bar` and `retry` are accepted and ignored.

    Raises:
        InvalidError: An option has an unknown value, or the directory exists.
        UnsupportedError: An encoding is not known.
    """

    def __init__(
        self,
        *,
        columns: Mapping[str, str],
        out: Source,
        compression: str | None = None,
        hashes: Sequence[str] | None = None,
        size_limit: int | str | None = 1 << 26,
        exist_ok: bool = False,
        max_workers: int | None = None,
        **options: Any,
    ) -> None:
        unknown = sorted(set(options) - _IGNORED)
        if unknown:
            raise TypeError(f"MDSWriter has no argument {unknown[0]!r}")
        given: Any = out
        if not isinstance(given, str | os.PathLike) or "://" in os.fspath(out):
            raise InvalidError(f"out={given!r}: shards are written to a local directory; copy them from there")
        target: str = os.path.expanduser(str(given))  # pyright: ignore[reportUnknownArgumentType]  # noqa: PTH111 - str in, str out
        self._path = writable_name(target)
        self._done: WriteResult | None = None
        self._aborted = False
        self._process = os.getpid()
        self._encoders = {name: encoder_of(columns[name]) for name in sorted(columns)}
        os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)  # noqa: PTH100, PTH103, PTH120
        self._writer = _core.MdsWriter(
            target,
            dict(columns),
            compression=compression or None,
            hashes=list(hashes or ()),
            size_limit=None if not size_limit else _limit(size_limit),
            overwrite=exist_ok,
            threads=max_workers or 0,
        )

    def write(self, sample: Mapping[str, Any]) -> None:
        """Write a sample.

        Raises:
            MismatchError: A column has no value, or its value does not fit the encoding; the message names the column,
                and the sample is left out.
            OSError: A shard cannot be written. Every further call raises, and nothing is published.
        """
        self._require_own_process()
        values: list[bytes] = []
        for name, encode in self._encoders.items():
            try:
                values.append(encode(sample[name]))
            except KeyError:
                raise MismatchError(
                    f"sample {self._writer.samples}: there is no value for the column {name!r}"
                ) from None
            except JinxError as error:
                raise type(error)(f"sample {self._writer.samples}, column {name!r}: {error}") from None
        self._writer.write(values)

    def finish(self) -> WriteResult:
        """Write the index and publish the directory; returns what was written.

        A second call does nothing and returns the same result.
        """
        self._require_own_process()
        if self._done is None:
            self._done = WriteResult.of(self._path, self._writer.finish())
        return self._done

    def abort(self) -> None:
        """Discard what was written; an existing dataset does not change. After `finish` this does nothing."""
        self._aborted = self._done is None
        # The files are those of the process that opened the writer.
        if self._process == os.getpid():
            self._writer.abort()

    def _require_own_process(self) -> None:
        if self._process != os.getpid():
            raise InvalidError(
                f"{self._path}: this writer belongs to process {self._process}, which opened it; a forked process must "
                "open its own, for another output"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abort()
        elif not self._aborted:
            self.finish()


def _limit(size: int | str) -> int:
    """In Streaming, `"64mb"` means 64 MiB."""
    if isinstance(size, str):
        text = size.strip().lower()
        size = f"{text[:-1]}ib" if text[-2:] in {"kb", "mb", "gb", "tb"} else text
    return parse_size(size)


def merge_index(parts: Source | Sequence[Source], out: Source | None = None) -> int:
    """Write an index over the shards of several directories, so that they open as one dataset.

    Args:
        parts: The directories in order, or one directory whose subdirectories are merged in the order of their names.
        out: The directory for the index, which contains all of them; `parts` itself if that is one directory.

    Returns:
        The number of shards.

    Raises:
        InvalidError: A part is not inside `out`.
        FileNotFoundError: A part has no index.
    """
    if isinstance(parts, str | os.PathLike):
        root = os.fspath(parts)
        subdirectories = sorted(where for where, _, names in os.walk(root) if INDEX in names and where != root)
        if not subdirectories:
            raise FileNotFoundError(f"{root}: no subdirectory has an {INDEX}")
        return _merge(subdirectories, root if out is None else os.fspath(out))
    if out is None:
        raise InvalidError("merging a list of directories needs out=, the directory that contains them")
    directories = [os.fspath(part) for part in parts]
    named = [os.path.dirname(part) if os.path.basename(part) == INDEX else part for part in directories]  # noqa: PTH119, PTH120
    return _merge(list(dict.fromkeys(named)), os.fspath(out))


def _merge(directories: Sequence[str], out: str) -> int:
    shards: list[dict[str, Any]] = []
    for directory in directories:
        prefix = os.path.relpath(directory, out)
        if prefix.startswith(os.pardir) or os.path.isabs(prefix):  # noqa: PTH117
            raise InvalidError(f"{directory} is not inside {out}, so an index there cannot name its shards")
        with open(os.path.join(directory, INDEX), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            index: dict[str, Any] = json.load(file)
        for shard in index["shards"]:
            for key in ("raw_data", "zip_data", "raw_meta", "zip_meta"):
                if shard.get(key):
                    shard[key]["basename"] = os.path.join(prefix, shard[key]["basename"])  # noqa: PTH118
            shards.append(shard)
    _publish(os.path.join(out, INDEX), json.dumps({"version": 2, "shards": shards}, sort_keys=True))  # noqa: PTH118
    return len(shards)


def _publish(path: str, text: str) -> None:
    """Replace a file in one step, so that readers see the old or the new one, never a part."""
    work = f"{path}.tmp"
    with open(work, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(work, path)  # noqa: PTH105
