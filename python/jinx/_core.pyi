"""The Rust core. Everything here is re-exported or wrapped by the `jinx` package."""

from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    MutableMapping,
    Sequence,
    ValuesView,
)
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self, final

from typing_extensions import Buffer, disjoint_base

__version__: str
build_profile: str
PACKER_VERSION: int
"""Changes whenever the same request gives another plan."""

class JinxError(Exception):
    """The base of all errors of jinx; `path`, `sample` and `column` say where, None where they do not apply."""

    path: str | None
    sample: int | None
    column: str | None

class CorruptFileError(JinxError, ValueError):
    """Bytes that no writer produces, or a checksum that does not match."""

class TruncatedFileError(CorruptFileError):
    """A file ends before what it announces."""

class LimitError(JinxError, ValueError):
    """A cap on untrusted input was met."""

class UnsupportedError(JinxError, NotImplementedError):
    """A file that needs what this build does not know."""

class MismatchError(JinxError, ValueError):
    """Files that do not belong together, or a value that does not fit a schema."""

class InvalidError(JinxError, ValueError):
    """An argument or a value that cannot be used."""

class InternalError(JinxError, RuntimeError):
    """A bug in jinx: please report it. A writer that raised it publishes nothing."""

class PanicError(InternalError):
    """A panic in Rust."""

@final
class LazyDict(MutableMapping[str, Any]):  # registered with collections.abc.MutableMapping, not derived from it
    """One sample: a mutable mapping whose values are read and decoded when they are first touched.

    Its repr, `len`, `in` and `keys` decode nothing. Changes stay in this object; the file never changes. It pickles,
    and `isinstance(sample, collections.abc.Mapping)` holds, but it is not a `dict`: see `to_dict`.
    """

    def __getitem__(self, key: str, /) -> Any: ...
    def __setitem__(self, key: str, value: Any, /) -> None: ...
    def __delitem__(self, key: str, /) -> None: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def __reversed__(self) -> Iterator[str]: ...
    def __or__(self, value: Mapping[str, Any], /) -> dict[str, Any]: ...
    def __ror__(self, value: Mapping[str, Any], /) -> dict[str, Any]: ...
    def __ior__(self, value: Any, /) -> Self: ...  # type: ignore[misc]  # changed in place, so it stays a LazyDict
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any) -> Self: ...
    def keys(self) -> KeysView[str]:
        """A live view of the column names, in their order; decodes nothing."""
    def values(self) -> ValuesView[Any]:
        """A live view of the values; each is decoded when it is reached."""
    def items(self) -> ItemsView[str, Any]:
        """A live view of (name, value) pairs; each value is decoded when it is reached."""
    def get(self, key: str, default: Any = None, /) -> Any:
        """The value of a column, or `default` where the sample has no such column."""
    def pop(self, key: str, /, *default: Any) -> Any:
        """Remove a column and return its value, or the default where the sample has no such column."""
    def popitem(self) -> tuple[str, Any]:
        """Remove the last column and return its name and value."""
    def setdefault(self, key: str, default: Any = None, /) -> Any:
        """The value of a column; where the sample has none, it is set to `default` first."""
    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set columns from a mapping, from pairs or from keywords."""
    def clear(self) -> None:
        """Remove all columns."""
    def copy(self) -> Self:
        """A shallow copy that shares what is decoded and stays lazy."""
    def length(self, key: str) -> int:
        """Elements of a list or dict, characters of a string, bytes of a binary value, rows of an array; counted
        without decoding (except for torch tensors). `TypeError` for what has no length.
        """
    def materialize(self) -> Self:
        """Read and decode every column now; returns the sample itself."""
    def to_dict(self) -> dict[str, Any]:
        """All columns, decoded, as a plain dict: for what takes only that class, such as `json.dumps`."""
    def raw(self) -> bytes:
        """The sample's JSON line as it is stored."""

@final
class Batches:
    """Samples at given indices, batch by batch; `threads` threads read `depth` batches ahead."""

    def __new__(
        cls,
        reader: Reader,
        source: Iterable[Sequence[int]],
        columns: Sequence[str] | None,
        threads: int,
        depth: int,
        blocks: tuple[Sequence[int], int, int, int, int] | None = None,
    ) -> Self:
        """`blocks`: the starts of the blocks, samples per block, number of blocks that are mixed, samples read before,
        ranks."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> list[tuple[int, Any]]:
        """For each sample of the next batch, its index, and the sample or the error from reading it."""

@final
class Positions:
    """Positions of the samples that a filter found, for `_derive(indices=...)` of the same dataset."""

@final
class Rows:
    """The source of a dataset's samples; `_derive(rows=...)` makes a dataset from it."""

    @property
    def kind(self) -> Literal["jinx", "jsonl", "mds", "memory", "view"]: ...
    @property
    def paths(self) -> list[str]:
        """The absolute paths."""
    @property
    def samples(self) -> int: ...
    def lists_columns(self) -> bool:
        """Whether the column names are complete; if not, only the samples show all of them."""
    def whole(self) -> Rows:
        """The same rows, including the columns that a view hides."""
    def identities(self) -> list[tuple[int, str]]:
        """(number of samples, identity) of every file: its id or, for a file without one, its size, time and a hash of
        its ends."""
    def base_ids(self) -> list[tuple[int, str]]:
        """(number of samples, id) of every file, as a saved view stores them; MismatchError if a file without an id has
        changed."""
    def content_hash(self, file: int) -> str:
        """xxh3-128 of a main file or JSON lines file as it was when opened, as 32 hex digits."""
    def column_names(self) -> list[str]: ...
    def read_sidecar(self, file: int, offset: int, length: int) -> bytes:
        """Bytes from the sidecar of a file, as it was when opened, without comparing a checksum."""
    def fetch_all(self) -> int:
        """Read all files at URLs once; returns the number of bytes."""
    def line_offsets(self, file: int) -> bytes:
        """For plain JSON lines: the start of each line of a file and the end of the last one, as little-endian u64."""

@disjoint_base
class Reader:
    """Shards opened as one sequence, with an optional view. `jinx.Dataset` derives from it."""

    def __new__(
        cls,
        shards: Sequence[str | PathLike[str]] = ...,
        *,
        io: str = "auto",
        verify: str = "full",
        lazy: bool = True,
        encoding: str | None = None,
        split: str | None = None,
        plain: bool = False,
        markers: bool = False,
        max_value_bytes: int | None = None,
        expected: Sequence[tuple[int, str]] | None = None,
        decoders: Mapping[str, Callable[[Any], Any]] | None = None,
        mds: Mapping[str, Any] | None = None,
        location: str | Sequence[str] | None = None,
        value_head: int | None = None,
        storage: Mapping[str, str] | None = None,
    ) -> Self:
        """`expected`: samples and id of every shard, from a manifest, so that a shard opens on first access and is
        checked then. `decoders`: for each column, the function that decodes its value; called once, at first touch.
        `mds`: `shards` are directories with an index.json, opened with these options: unpack ("private", "memory" or a
        directory), hashes (bool: of all shards), image_bytes (bool), allow_unsafe_types (bool or names).
        `location`: in place of `shards`, the files of a path or of several, of whatever kind they are.
        `value_head`: of files in the sidecar that are stored as they are, read only so many bytes.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitems__(self, indices: Sequence[int]) -> list[Any]: ...
    def take(self, indices: Any, columns: Sequence[str] | None = None) -> list[Any]: ...
    def _derive(
        self,
        *,
        indices: Any = ...,
        columns: Sequence[str] | None = ...,
        transforms: Sequence[Callable[[Any], Any]] = ...,
        lazy: bool = ...,
        decoders: Mapping[str, Callable[[Any], Any]] | None = ...,
        rows: Rows = ...,
        definition: Any = ...,
        options: Mapping[str, Any] = ...,
    ) -> Self:
        """The same shards with another view; arguments that are not given stay unchanged. `indices` are positions
        over all shards (not relative to the present view) as little-endian u64 bytes or as `_filter` gave them, or
        None for all samples in order. `rows` replaces the shards, `definition` says what Python makes these rows of,
        and `options` how they were opened if not as the present ones were."""
    @property
    def _decoders(self) -> dict[str, Callable[[Any], Any]] | None: ...
    @property
    def _indices(self) -> bytes | None:
        """The view as little-endian u64 positions over all shards, or None."""
    @property
    def _shown_columns(self) -> list[str] | None: ...
    @property
    def _transforms(self) -> list[Callable[[Any], Any]]: ...
    @property
    def _definition(self) -> Any:
        """The definition of a view with own columns or over several datasets; None for plain files."""
    def _hides(self, name: str) -> bool: ...
    def _schema_text(self) -> str: ...
    def _column_types(self) -> list[tuple[str, str]]:
        """The columns of the Arrow schema, and their Python types."""
    def _is_saved_view(self) -> bool:
        """Whether the files are a saved view whose bases are not open."""
    def _roots(self) -> tuple[list[Rows], bytes | None, list[str]]:
        """The files below all views, the positions of the view's samples in these files (little-endian u64, or None
        for all in order), and the columns that the files do not have."""
    def _root_files(self) -> list[Rows]:
        """Only the files of `_roots`, because the positions of a long view take time."""
    def _own_columns(self) -> list[str]:
        """The columns that the files of `_roots` do not have."""
    @property
    def _options(self) -> dict[str, Any]:
        """The keyword arguments of the constructor as they were given, without `decoders`."""
    @property
    def _shard_paths(self) -> list[str]:
        """The absolute paths, which stay valid in another working directory or process."""
    @property
    def _shard_names(self) -> list[str]:
        """The paths as they were given."""
    def _identities(self) -> list[tuple[int, str]]:
        """(samples, id) of every shard; the id is "" if a file has none."""
    def _reopened(self, *, verify: str = ..., value_head: int = ...) -> Rows:
        """The same rows from the same files, opened again with other options; fails if the files have changed."""
    def _base_len(self) -> int: ...
    def _close(self) -> None:
        """Close the files for all views, iterators and samples over them."""
    def _is_closed(self) -> bool: ...
    def _column(
        self, path: Sequence[str | None], kind: Literal["value", "length"]
    ) -> tuple[str, Any, bytes | None, bytes | None, int | None, bool, Any] | None:
        """(dtype, data, validity bitmap, utf8 offsets, numbers of each vector, whether the type is the column's own,
        codes of strings) over all shards, before the view; None if a shard lacks it."""
    def _scan(self, path: Sequence[str], kind: Literal["value", "length"]) -> tuple[list[Any], bool]:
        """Like `_column`, but read from the rows, in parallel and in the order of the view, without decoding media.
        Also returns whether any sample has a value at the path, even null."""
    def _filter(
        self, expression: str, paths: Sequence[Sequence[str]], kinds: Sequence[Sequence[str]], limit: int | None = None
    ) -> tuple[Positions, list[bool]]:
        """The positions over all shards of the samples of the view that an expression selects, at most `limit`; and
        for each path of the expression, whether no sample has it. `paths` are these paths as names, and `kinds` the
        kinds of values at each path according to the files."""
    def _fingerprints(self, paths: Sequence[Sequence[str]] | None = None) -> bytes:
        """16 bytes for each sample of the view: a hash of all its values, or of the values at `paths`, however they
        are stored; 0 for samples without a value at one of the paths."""
    def _sizes(self) -> bytes:
        """For each sample of the view, the approximate number of bytes that it takes in a JINX file, as
        little-endian u64."""
    def _footer(self, shard: int) -> str:
        """A shard's footer as JSON text; entries that 1.1 added are absent or null for 1.0 files."""
    def _stored_names(self) -> list[str]:
        """The top-level names over all shards; empty for files without statistics (1.0, plain JSON lines)."""
    def _facts(self) -> str | None:
        """The combined facts from the footers of all files, as JSON; None unless these are JINX files without views."""
    def _assume(self, facts: str) -> None:
        """Use the result of `_facts` for the same files, even from another process, so that no file has to be opened
        for it."""
    def _arrow_schema(self) -> str | None: ...
    def _arrow_stream(self, batch_rows: int, mixed_json: bool) -> object:
        """An `arrow_array_stream` PyCapsule of the view."""
    def _arrow_schema_capsule(self, mixed_json: bool) -> object: ...
    def _path_stats(self) -> list[dict[str, Any]]:
        """The `fields` entries of the footers, summed over the shards: path, kinds, coded, bytes, decoded, media.
        Empty for files without them (1.0, plain JSON lines)."""

@final
class MdsShard:
    """One MDS shard, uncompressed or compressed by sample, for readers whose datasets belong to another library."""

    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        names: Sequence[str],
        encodings: Sequence[str],
        sizes: Sequence[int | None],
        compression: str | None,
        samples: int,
        bytes: int,
        allow_unsafe_types: bool | Sequence[str] | None = None,
    ) -> Self: ...
    def get(self, i: int) -> dict[str, Any]:
        """Sample `i`, decoded. FileNotFoundError when the file is gone, IndexError if there is no such sample."""
    def data(self, i: int) -> bytes:
        """The bytes of sample `i`, decompressed."""
    def decode(self, data: bytes) -> dict[str, Any]:
        """A sample's bytes, decoded."""
    def close(self) -> bool: ...
    def is_stale(self) -> bool:
        """Whether the open file was removed or replaced."""

@final
class MdsWriter:
    """Writes samples with encoded values to an MDS directory; `jinx.mds.MDSWriter` encodes them."""

    def __new__(
        cls,
        path: str | PathLike[str],
        columns: Mapping[str, str],
        *,
        compression: str | None = None,
        hashes: Sequence[str] = ...,
        size_limit: int | None = None,
        overwrite: bool = False,
        threads: int = 0,
    ) -> Self: ...
    @property
    def columns(self) -> list[tuple[str, str]]:
        """Names and encodings in the order in which `write` takes values."""
    @property
    def samples(self) -> int: ...
    def write(self, values: Sequence[bytes]) -> None: ...
    def finish(self) -> dict[str, int]: ...
    def abort(self) -> None: ...

@final
class Writer:
    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        sidecar: bool = True,
        compression: str | None = ...,
        level: int = 3,
        binary_threshold: int = 64,
        compress_threshold: int = 128,
        compress_ratio: float = 0.9,
        string_threshold: int = 32768,
        uncompressed: Sequence[str] = ...,
        indexed: Sequence[str] | None = None,
        only_indexed: Sequence[str] | None = None,
        shard_size: int | None = None,
        overwrite: bool = False,
        append: bool = False,
        split: str | None = None,
        meta: str | None = None,
        arrow_schema: str | None = None,
        media: str | None = None,
        threads: int = 0,
        max_row_bytes: int | None = None,
        max_value_bytes: int | None = None,
        view: dict[str, Any] | None = None,
    ) -> Self:
        """`meta` and `media` are JSON. `view` makes the file a saved view: bases (JSON), indexes (for each base, the
        line offsets or None), positions (bytes or None), drop (names), num_samples."""
    def write(self, sample: Mapping[str, Any]) -> None: ...
    def write_many(self, samples: Any) -> None: ...
    def inherit(
        self, reader: Reader, hidden: Sequence[str], replaced: Sequence[str], own: object | None, untyped: bool
    ) -> bool:
        """Takes over schema, media, split and meta from a dataset's files, except for `hidden` columns. `own` is an
        Arrow stream with the schema of the caller's columns, except `untyped` ones. Returns whether the datasets so
        far have different schemas."""
    def copy(
        self,
        reader: Reader,
        positions: bytes,
        hidden: Sequence[str],
        own: Sequence[tuple[str, Any]],
        table: object | None,
        own_only: bool,
    ) -> None:
        """Copies samples at positions over all shards (little-endian u64) as they are stored; without the `hidden`
        columns, and with the columns in `own` and in the Arrow stream `table`. `own_only`: only columns that files
        lack."""
    def close(self) -> dict[str, int]: ...
    def abort(self) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def bytes(self) -> int: ...

@final
class Ordering:
    """Samples of a view by number, in a new order."""

    @staticmethod
    def shuffled(samples: int, seed: int) -> Ordering: ...
    @staticmethod
    def unchanged(samples: int) -> Ordering: ...
    def __len__(self) -> int: ...
    def positions(self, start: int, stop: int) -> bytes:
        """The samples at the places start..stop of the order, as little-endian u64."""

@final
class SortKeys:
    """Sorts by keys, which are added in the order of the samples. `directions`: whether each key descends, and is in
    natural order."""

    def __new__(cls, directions: Sequence[tuple[bool, bool]], folder: str, memory: int, drop_missing: bool) -> Self: ...
    def add_paths(self, reader: Reader, keys: Sequence[tuple[Sequence[str], str]]) -> list[bool]:
        """Adds the values ("value") or lengths ("length") at paths in a view; returns whether any sample has each
        path."""
    def add_values(self, values: Sequence[Any]) -> None: ...
    def finish(self) -> tuple[Ordering, int]: ...

def plan_order(samples: int, bytes: int, memory: int, values: tuple[int, Path] | None) -> tuple[int | None, int]:
    """The number of runs (None: a single pass), and the bytes of the temporary files.

    `values`: the mean size of a sample's values in sidecars, and the largest sidecar; None for other formats.
    """

def reorder(
    target: Writer, reader: Reader, ordering: Ordering, plan: tuple[int | None, int, int], progress: Any
) -> int:
    """Writes a view according to a plan (runs, bytes, memory); `progress(done, total)` counts the samples of all
    passes."""

def convert(
    sources: Sequence[str],
    out: str,
    *,
    input_format: str,
    output_format: str,
    options: str,
    progress: Callable[[int, int, int | None], None] | None = None,
) -> dict[str, int]:
    """Converts between parquet, jsonl, msgpack, tar and jinx; `options` is JSON, made by `_convert.options`. Each file
    becomes a shard of a directory; `progress(rows, bytes_read, total_bytes)` is called about ten times a second and may
    raise. Returns rows, bytes (the sidecar's included), sidecar_bytes, shards.
    """

def convert_arrow(
    stream: object,
    out: str,
    *,
    output_format: str,
    options: str,
    progress: Callable[[int, int, int | None], None] | None = None,
) -> dict[str, int]:
    """Like `convert`, but from an object with `__arrow_c_stream__`."""

def copy_mds(
    roots: Sequence[Rows],
    positions: bytes | None,
    columns: Sequence[str],
    out: str,
    options: str,
    progress: Callable[[int, int, int | None], None] | None = None,
) -> dict[str, int] | None:
    """Copies the samples of MDS directories to another one, with their values as stored.

    None if their shards differ in these columns, or have encodings that the writer does not have.
    """

def stream(
    sources: Sequence[str],
    *,
    input_format: str,
    columns: Sequence[str] | None = None,
    markers: bool = False,
    where: str | None = None,
) -> Iterator[Any]:
    """The rows of any input format as plain dicts, or those that an expression selects."""

def take_stream_failure() -> BaseException | None:
    """The error of the last call to a stream of `Reader._arrow_stream` on this thread; None if the call succeeded."""

def parse_path(text: str) -> list[str]:
    """The names in a dotted path such as `meta.width`; a name in double quotes may contain dots: `meta."a.b"`."""

def expression_paths(expression: str) -> list[str]:
    """The paths in a condition as they are written; InvalidError with the position if it cannot be parsed."""

def sniff(path: str) -> tuple[str, str | None]:
    """The kind of a file by its first and last bytes ("a Parquet file", "a JINX file", ...), and the command to use for
    it."""

def read_schema(path: str) -> str:
    """A Parquet file's Arrow schema: its IPC message as base64."""

def resolve(path: str) -> list[tuple[str, int | None, str | None]]:
    """Shards of a directory: (path, samples, id), in the order of its manifest or in natural order."""

@final
class ObjectStore:
    def __new__(cls, storage: Mapping[str, str]) -> Self: ...
    def head(self, url: str) -> tuple[str, int, str, float]: ...
    def get(self, url: str, range: tuple[int, int] | None = None, tag: str | None = None) -> tuple[bytes, str]: ...
    def put(self, url: str, data: bytes, absent: bool = False, expected: str | None = None) -> str: ...
    def put_file(self, url: str, path: str | PathLike[str], replace: bool) -> None: ...
    def get_file(self, url: str, path: str | PathLike[str]) -> None: ...
    def list(self, url: str, recursive: bool) -> list[tuple[str, int, str, float]]: ...
    def delete(self, urls: Sequence[str]) -> None: ...

def upload(path: str | PathLike[str], url: str, overwrite: bool, options: Mapping[str, Any]) -> None:
    """Copy a dataset from this machine to a URL, main files last. `options` are those of a reader."""

def io_statistics() -> dict[str, int]:
    """What this process has read from stores: requests, failures, fetched_bytes, cached_bytes, read_bytes."""

def cache_directory(directory: str | PathLike[str] | None = None) -> Path | None:
    """The given directory, or else the default directory of the cache; None if the cache is turned off."""

def cache_contents(directory: str | PathLike[str]) -> tuple[int, int, int, int]:
    """The number of objects, chunks and bytes in a cache, and the maximum number of bytes."""

def cache_clear(directory: str | PathLike[str]) -> int:
    """Remove everything that no process uses from a cache; returns the number of bytes freed."""

def verify(
    path: str, progress: Callable[[int, int], None] | None = None, max_value_bytes: int | None = None
) -> list[dict[str, Any]]:
    """Problems of a pair or directory: {"file", "sample", "column", "byte", "cause", "what"}; empty if it is intact."""

def mds_verify(path: str, progress: Callable[[int, int], None] | None = None) -> list[dict[str, Any]]:
    """Like `verify`, for an MDS directory."""

def repair(path: str, out: str | None, dry_run: bool) -> dict[str, Any]:
    """Rebuilds a pair; returns {"samples", "kept", "unchecked", "lost", "damage": [str], "out"}.

    Each of "lost" is {"line", "bytes", "reason"}.
    """

def row_json(reader: Reader, start: int, stop: int, binary: bool) -> bytes:
    """JSON lines of the samples start..stop of the view, for `jinx head` and `jinx cat`."""

def json_text(value: Any, binary: bool) -> bytes:
    """Any value as JSON: with markers for values that JSON cannot represent, or (if `binary` is false) in a readable
    form."""

def _sample_of(names: list[str], values: dict[str, Any], carried: bytes) -> LazyDict:
    """A sample from a pickle."""

def clean(directory: str) -> list[str]: ...
def merge(directory: str) -> tuple[int, int, int, int]: ...
def mds_directory(path: str, split: str | None) -> str | None:
    """The MDS directory for a path: itself, its subdirectory for a split, or the directory of an index.json."""

def sidecar_of(main: str) -> Path | None:
    """The sidecar of a main file; MismatchError if it is missing."""

def require_own_sidecar(main: str) -> None:
    """InvalidError if the sidecar next to `main` belongs to another main file."""

def copy_pair(main: str, sidecar: str | None, target: str, overwrite: bool) -> None: ...

@final
class NewDirectory:
    """A directory that is filled at a hidden `path` and gets its final name from `commit`; `overwrite` replaces JINX
    files."""

    def __new__(cls, target: str, overwrite: bool) -> Self: ...
    @property
    def path(self) -> str: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...

@final
class NewFile:
    """A file with `data` under a hidden name; `commit` gives it its final name, replacing any existing file."""

    def __new__(cls, path: str, data: bytes) -> Self: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...

@final
class SeenFingerprints:
    """A set of at most `limit` fingerprints of 16 bytes; `add` returns 1 for each new fingerprint and 0 for the
    others."""

    def __new__(cls, limit: int) -> Self: ...
    def add(self, fingerprints: bytes) -> bytes: ...

def copy_directory(source: str, target: str, overwrite: bool) -> None: ...
def move_pair(main: str, target: str, overwrite: bool) -> None: ...
def move_directory(source: str, target: str, overwrite: bool) -> None: ...
def remove_pair(main: str) -> None: ...
def remove_directory(directory: str) -> None: ...

@final
class ViewNumbers:
    """The numbers of a column in the order of a view."""

    @staticmethod
    def read(reader: Reader, path: Sequence[str], kind: str) -> ViewNumbers | None:
        """The numbers ("value") or lengths ("length") at a path; None if the values are not numbers."""
    def __len__(self) -> int: ...
    def range(self) -> tuple[tuple[float, float] | None, int, bool]:
        """The smallest and largest finite number, or None; how many samples have no number; whether all are
        integers."""
    def codes(self, edges: Sequence[float]) -> bytes:
        """For each sample the number of its bin, or 255 without a number; `edges` are the lower edges of all bins but
        the first."""

@final
class SortedPages:
    """Pages of the samples in the order of their numbers. Equal ones keep their order; missing numbers come last."""

    def __new__(cls, numbers: ViewNumbers, chosen: bytes | None, is_descending: bool) -> Self:
        """`chosen`: use only these samples, given as bits; see `view_counts`."""
    def page(self, start: int, count: int, numbers: ViewNumbers | None = None) -> bytes | None:
        """The samples of a page as little-endian u32; None if it is not sorted yet, so that `numbers` are needed."""

def view_categories(reader: Reader, path: Sequence[str], most: int) -> tuple[list[str], bytes] | None:
    """The different strings at a path, and a code for each sample, 255 without a string; None if there are more than
    `most` strings or any other values."""

def view_counts(
    columns: Sequence[tuple[bytes, bytes]], among: bytes | None, samples: int
) -> tuple[list[list[int]], int]:
    """For each column and each of its codes, the number of samples that all other columns keep; and how many samples
    all columns keep.

    `columns` are codes, and 256 bytes of which those of kept codes are 1. `among`: only samples whose bit is 1, that
    of sample `i` is bit `i % 8`, counted from the lowest, of byte `i // 8`.
    """

def view_kept(columns: Sequence[tuple[bytes, bytes]], among: bytes | None, samples: int) -> bytes:
    """The samples that all columns keep, as bits; see `view_counts`."""

def view_search(reader: Reader, word: str, start: int, stop: int, limit: int) -> list[int]:
    """The first `limit` samples in start..stop of the view that have a string containing `word`. ASCII letters match in
    both cases."""

def compose(parts: Sequence[Reader], own: Sequence[tuple[str, Any]], lengths: str | None) -> Rows:
    """Several datasets as one sequence, with columns from Python (`column[i]`, `column.numbers()`) that hide stored
    columns of the same name. `lengths` is JSON text with the settings of the lengths among these columns."""

def lengths_after(lengths: str, replaced: Sequence[str]) -> str | None:
    """The settings of lengths (JSON text) after columns of the samples were replaced; None if no lengths remain."""

def join(parts: Sequence[Reader]) -> Rows | None:
    """The rows of several datasets as one, sharing the open files; None unless all are JINX files, or all are JSON
    lines."""

def compose_saved(file: Reader, bases: Sequence[Reader]) -> Rows:
    """A saved view over its bases."""

@final
class TypedColumns:
    """The columns of a view's own that its file will store as typed arrays."""

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""

def typed_columns(dataset: Reader) -> TypedColumns:
    """The columns that a view adds to its files and whose values are arrays of one type."""

def view_footer(path: str) -> str | None:
    """The content of a saved view's footer, as JSON text: id, num_samples, rows, base, drop, own,
    has_positions; None for other files."""

def open_view_footer(file: Reader) -> str | None:
    """Like `view_footer`, for the open file of a view."""

def is_view_directory(path: str) -> bool:
    """Whether a directory contains saved views, according to its manifest."""

def view_files(file: Reader) -> list[Rows]:
    """Each file of a view separately: one, or the shards of a directory."""

def open_base(file: Reader, view: str, base: int, places: Sequence[str] | None) -> Rows:
    """A base of a saved view, opened from the first of `places` that has it, or from the path in the view. `view` is
    the path of the view, and `file` its open file.

    MismatchError if no place has the base, or another dataset is there.
    """

def find_base(file: Reader, view: str, base: int) -> str:
    """The path of a base of a saved view, even if the base is damaged."""

def base_candidates(base: str, view: str) -> list[str]:
    """The possible paths of a base on this machine, in search order; `base` is its entry in the view's footer as
    JSON."""

def directory_id(names: Sequence[str], identities: Sequence[tuple[int, str]]) -> str:
    """The id of a directory, made from its first shards; it does not change when shards are added."""

def view_line_offsets(file: Reader, base: int) -> bytes:
    """The line offsets that a view stores for a base of plain JSON lines; see `Rows.line_offsets`."""

def view_set_paths(path: str, id: str, places: str) -> None:
    """Changes where the saved view with this id finds its bases; `places` is a JSON list of [path, hint], URL or null
    for each.

    MismatchError if another dataset has the name.
    """

def view_directory_set_paths(path: str, shards: str) -> None:
    """Like `view_set_paths`, for a directory of views; `shards` is a JSON list of [name, id, places]."""

def hash_bytes(data: bytes) -> str:
    """xxh3-128 as 32 hex digits."""

def hash_file(path: str) -> str:
    """xxh3-128 of a file as 32 hex digits."""

def pack(
    sizes: Sequence[Buffer],
    capacities: Sequence[int],
    *,
    strategy: str,
    window: int,
    truncate: bool,
    sources: Sequence[tuple[int, int, int]],
    seed: int | None,
    epoch: int,
    threads: int,
) -> tuple[bytes, bytes, tuple[int, int, int]]:
    """The packs of an epoch: offsets and positions as little-endian u32, and how many samples are empty, too large and
    truncated. `sizes` are arrays of u32, tokens first; `sources` are (samples, the number that this epoch takes, the
    number that earlier epochs took modulo the samples).
    """

def step_order(count: int, seed: int, epoch: int, window: int) -> list[int]:
    """The shuffled order of the groups of packs of one window of a schedule."""
