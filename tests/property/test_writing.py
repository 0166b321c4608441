"""What a writer accepted is what opens, whatever went wrong between: bad rows, rows too long, a disk that fills up."""

import gc
import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

import jinx
from jinx.mds import MDSWriter
from property.values import VALUES, same

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MAX_ROW_BYTES = 20_000
SERIAL = "serial"

# Names that fall together where parts of a path are joined, or that look like a part of the format.
NAMES = st.one_of(
    st.sampled_from(
        ["a", "b", "kb", "a\0kb", "a\0b", "\0", "", ".", "a.b", "a.b.bin", "b.bin", "[]", "a[]", "$bytes", "é"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
SAMPLES = st.dictionaries(NAMES, st.one_of(VALUES, st.dictionaries(NAMES, VALUES, max_size=3)), max_size=4)


class Raising(Mapping[str, Any]):
    """A sample that fails while it is written."""

    def __getitem__(self, name: str) -> Any:
        raise ZeroDivisionError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(["ok"])

    def __len__(self) -> int:
        return 1


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def around_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


BAD: dict[str, Callable[[], Any]] = {
    "no mapping": lambda: 5,
    "None": lambda: None,
    "a set": lambda: {"x": {1, 2}},
    "an object": lambda: {"ok": 1, "x": [{"y": object()}]},
    "a key that is not a str": lambda: {1: 2},
    "an inner key that is not a str": lambda: {"x": {None: 2}},
    "half a surrogate pair": lambda: {"x": "\ud800"},
    "half a surrogate pair in a name": lambda: {"x": {"\ud800": 1}},
    "too deep": lambda: {"x": nested(400)},
    "around itself": lambda: {"x": around_itself()},
    "too many digits": lambda: {"x": 10**5000},
    "an array of objects": lambda: {"x": np.array([None, {}], dtype=object)},
    "an exception of its own": Raising,
}

# Some, and more than a writer collects before it encodes them.
ROWS = st.sampled_from([1, 5, 40, 520])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), SAMPLES),
        st.tuples(st.just("write_many"), st.lists(SAMPLES, max_size=4)),
        st.tuples(st.just("bad"), st.sampled_from(sorted(BAD))),
        st.tuples(st.just("bad_behind_others"), st.sampled_from(sorted(BAD))),
        st.tuples(st.just("small_rows"), ROWS),
        st.tuples(st.just("too_long"), st.integers(MAX_ROW_BYTES, 2 * MAX_ROW_BYTES)),
        st.tuples(st.just("full_disk"), st.tuples(st.sampled_from([0, 5_000, 100_000]), ROWS)),
    ),
    max_size=6,
)
META = st.dictionaries(
    NAMES,
    st.recursive(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        ),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
        max_leaves=5,
    ),
    max_size=3,
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "sidecar": st.booleans(),
        "compression": st.sampled_from([None, "zstd", "zstd:1"]),
        "indexed": st.lists(st.sampled_from(["a", "b", "a.b", "kb"]), max_size=3, unique=True),
        "uncompressed": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
        "binary_threshold": st.sampled_from([0, 1, 64, 10_000]),
        "compress_threshold": st.sampled_from([0, 128]),
        "compress_ratio": st.sampled_from([0.1, 0.9, 1.0]),
        "string_threshold": st.sampled_from([1, 100]),
        "threads": st.sampled_from([0, 1, 3]),
        "split": st.sampled_from(["train", "a b"]),
        "meta": META,
    },
)
EXPECTED = (TypeError, ValueError, OSError, ZeroDivisionError, RecursionError, jinx.JinxError)


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """No file may grow beyond `limit` bytes here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def attempt(act: Callable[[], object]) -> Exception | None:
    """The error of a call, which is one line and no panic; None when there was none."""
    try:
        act()
    except EXPECTED as error:
        caught = error
    else:
        return None
    assert not isinstance(caught, jinx.InternalError), caught
    assert "\n" not in str(caught)
    return caught


class Session:
    """A writer, and what it was given. Every good sample has a serial number."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer
        self.given: list[dict[str, Any]] = []
        self.accepted: set[int] = set()
        self.disturbed = False
        """Something happened upon which a writer may refuse all that follows."""
        self.disk_was_full = False

    def good(self, sample: dict[str, Any]) -> dict[str, Any]:
        """The sample with its number."""
        tagged = {SERIAL: len(self.given), **{name: value for name, value in sample.items() if name != SERIAL}}
        self.given.append(tagged)
        return tagged

    def write(self, sample: dict[str, Any]) -> None:
        tagged = self.good(sample)
        error = attempt(lambda: self.writer.write(tagged))
        assert error is None or self.disturbed, f"a good sample was refused: {error}"
        if error is None:
            self.accepted.add(tagged[SERIAL])

    def write_many(self, samples: list[Any], bad: Any = None) -> None:
        """All at once, `bad` behind them."""
        taken: list[int] = []

        def source() -> Iterator[Any]:
            for sample in samples:
                number = self.good(sample)[SERIAL]
                yield self.given[number]
                # Asked for the next one: this one is taken.
                taken.append(number)
            if bad is not None:
                yield bad
                pytest.fail("a bad sample was accepted")

        error = attempt(lambda: self.writer.write_many(source()))
        assert error is None or bad is not None or self.disturbed, f"a good sample was refused: {error}"
        self.accepted.update(taken)

    def bad(self, kind: str) -> None:
        assert attempt(lambda: self.writer.write(BAD[kind]())) is not None, "a bad sample was accepted"

    def bad_behind_others(self, kind: str) -> None:
        self.write_many([{"x": 1}, {"x": 2}], bad=BAD[kind]())

    def small_rows(self, count: int) -> None:
        for number in range(count):
            self.write({"n": number, "blob": bytes([number % 256]) * 100})

    def too_long(self, size: int) -> None:
        self.disturbed = True
        error = attempt(lambda: self.writer.write({"x": [1234567] * (size // 8)}))
        refused = self.disk_was_full and "an earlier write failed" in str(error)
        assert error is None or refused or "sample" in str(error)

    def full_disk(self, limit_and_count: tuple[int, int]) -> None:
        self.disturbed = self.disk_was_full = True
        limit, count = limit_and_count
        with full_disk(limit):
            self.small_rows(count)

    def run(self, steps: list[tuple[str, Any]]) -> None:
        for kind, value in steps:
            event(kind)
            getattr(self, kind)(value)

    def close(self) -> jinx.WriteResult | None:
        """What closing returns; None when it publishes nothing, for which there must be a reason."""
        summaries: list[jinx.WriteResult] = []
        finish = self.writer.finish if isinstance(self.writer, MDSWriter) else self.writer.close
        error = attempt(lambda: summaries.append(finish()))
        assert error is None or self.disturbed, f"nothing disturbed the writer: {error}"
        event("published" if error is None else "refused")
        if error is not None:
            self.writer.abort()
        self.writer = None
        gc.collect()
        return summaries[0] if summaries else None

    def check(self, rows: list[dict[str, Any]], summary: jinx.WriteResult) -> None:
        """Every accepted sample is there, in order and as it was given, and nothing else but what was in doubt."""
        assert summary.samples == len(rows)
        serials = [row[SERIAL] for row in rows]
        assert serials == sorted(set(serials))
        assert set(serials) >= self.accepted, f"lost: {sorted(self.accepted - set(serials))[:5]}"
        assert self.disturbed or set(serials) == self.accepted
        for row in rows:
            expected = self.given[row[SERIAL]]
            assert same(row, expected), (row, expected)


class MdsSession(Session):
    """The same for samples with the columns that an MDS writer wants."""

    def bad(self, kind: str) -> None:
        sample: dict[str, Any] = {SERIAL: 0, **MDS_SMALL, "data": b"", **MDS_BAD[kind]}
        bad = {name: value for name, value in sample.items() if value is not ...}
        assert attempt(lambda: self.writer.write(bad)) is not None, "a bad sample was accepted"

    def small_rows(self, count: int) -> None:
        for number in range(count):
            self.write({**MDS_SMALL, "data": bytes([number % 256]) * 100})


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [sample.to_dict() for sample in jinx.open(path)]


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    steps=STEPS,
    options=OPTIONS,
    target=st.sampled_from(["pair", "replaced pair", "directory", "replaced directory", "appended", "parts"]),
    shard_size=st.sampled_from([1, 3_000, 100_000]),
)
@example(
    steps=[("write", {"x": {"a\0kb": b"1" * 99, "a": {"b": b"2" * 99}}})],
    options={"threads": 1},
    target="pair",
    shard_size=1,
)
@example(
    steps=[("small_rows", 600), ("too_long", 30_000), ("small_rows", 600)], options={}, target="pair", shard_size=1
)
@example(steps=[("too_long", 30_000), ("small_rows", 10)], options={}, target="directory", shard_size=3_000)
@example(steps=[("full_disk", (0, 520)), ("too_long", 20_000)], options={}, target="pair", shard_size=1)
@example(
    steps=[("small_rows", 40), ("full_disk", (0, 600)), ("small_rows", 600)],
    options={},
    target="appended",
    shard_size=3_000,
)
@example(
    steps=[], options={"meta": {"x": 5e-324, "y": 0.1 + 0.2, "z": 2**70, "-0": -0.0}}, target="directory", shard_size=1
)
def test_what_was_accepted_is_what_opens(steps, options, target, shard_size):
    with TemporaryDirectory() as name:
        directory = Path(name)
        path = directory / ("d.jinx" if "pair" in target else "d")
        is_new, old = target in {"pair", "directory", "parts"}, [{SERIAL: -1, "old": b"o" * 200}]
        sizes = {} if "pair" in target else {"shard_size": shard_size}
        if not is_new:
            with jinx.Writer(path, **sizes) as writer:
                writer.write_many(old)
        before = files(directory)
        how: dict[str, Any] = {
            "replaced pair": {"overwrite": True},
            "replaced directory": {"overwrite": True},
            "appended": {"append": True},
            "parts": {"part": (0, 2)},
        }.get(target, {})
        session = Session(jinx.Writer(path, max_row_bytes=MAX_ROW_BYTES, **sizes, **how, **options))
        session.run(steps)
        if not session.disturbed:
            assert session.writer.samples == len(session.accepted)
        summary = session.close()
        if summary is None:
            assert files(directory) == before
            assert path.exists() == (not is_new) or target == "parts"
            return
        if target == "parts":
            same_for_all = {name: options[name] for name in ("split", "meta") if name in options}
            with jinx.Writer(path, part=(1, 2), **same_for_all) as other:
                other.write(session.good({"last": True}))
            session.accepted.add(len(session.given) - 1)
            summary = jinx.merge(path)
        rows = rows_of(path)
        if target == "appended":
            assert rows[:1] == old
            rows = rows[1:]
        session.check(rows, summary)
        assert jinx.verify(path) == []
        if target not in {"appended", "parts"}:
            info = jinx.open(path).info()
            assert same(info.meta, options.get("meta", {}))
            assert info.split == options.get("split")


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(samples=st.lists(SAMPLES, max_size=6), options=OPTIONS)
@example(samples=[{"x": {"a\0kb": b"1" * 99, "a": {"b": b"2" * 99}}}] * 3, options={})
def test_the_bytes_do_not_depend_on_the_threads(samples, options):
    with TemporaryDirectory() as name:
        written = []
        for threads in (1, 2, 5):
            directory = Path(name) / str(threads)
            directory.mkdir()
            with jinx.Writer(directory / "d.jinx", **{**options, "threads": threads}) as writer:
                writer.write_many(samples)
            written.append(files(directory))
        assert written[0] == written[1] == written[2]


MDS_COLUMNS = {SERIAL: "int", "text": "str", "data": "bytes", "value": "float64", "meta": "json", "grid": "ndarray"}
JSON_VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)
MDS_SAMPLES = st.fixed_dictionaries(
    {
        "text": st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        "data": st.one_of(st.binary(max_size=50), st.integers(0, 5000).map(bytes)),
        "value": st.floats(allow_nan=False).map(np.float64),
        "meta": JSON_VALUES,
        "grid": st.integers(1, 9).map(lambda size: np.arange(size * 2, dtype=np.int16).reshape(2, size)),
    }
)
MDS_SMALL = {"text": "t", "value": np.float64(0), "meta": None, "grid": np.zeros((1, 2), np.int16)}
MDS_BAD: dict[str, dict[str, Any]] = {
    "no value": {"data": ...},
    "another type": {"data": 5},
    "half a surrogate pair": {"text": "\ud800"},
    "no JSON": {"meta": {1, 2}},
    "too large": {SERIAL: 2**64},
    "an array of objects": {"grid": np.array([None], dtype=object)},
}
BRIEFLY_FULL = [("small_rows", 20), ("full_disk", (0, 19)), ("small_rows", 20)]
MDS_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), MDS_SAMPLES),
        st.tuples(st.just("bad"), st.sampled_from(sorted(MDS_BAD))),
        st.tuples(st.just("small_rows"), st.integers(1, 60)),
        st.tuples(st.just("full_disk"), st.tuples(st.sampled_from([0, 500, 5_000]), st.integers(1, 60))),
    ),
    max_size=6,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=MDS_STEPS,
    options=st.fixed_dictionaries(
        {
            "compression": st.sampled_from([None, "zstd", "gz", "br:1", "snappy", "sample::zstd"]),
            "hashes": st.sampled_from([[], ["sha1"], ["md5", "xxh64"]]),
            "size_limit": st.sampled_from([1_000, 10_000, None]),
            "max_workers": st.sampled_from([1, 3]),
        }
    ),
    replaces=st.booleans(),
)
@example(steps=BRIEFLY_FULL, options={"size_limit": 1_000, "max_workers": 1}, replaces=False)
@example(steps=BRIEFLY_FULL, options={"size_limit": 1_000, "compression": "zstd", "hashes": ["sha1"]}, replaces=True)
def test_what_an_mds_writer_accepted_is_what_opens(steps, options, replaces):
    with TemporaryDirectory() as name:
        directory = Path(name)
        path = directory / "shards"
        if replaces:
            with MDSWriter(columns=MDS_COLUMNS, out=path) as writer:
                writer.write({SERIAL: -1, **MDS_SMALL, "data": b"old"})
        before = files(directory)
        session = MdsSession(MDSWriter(columns=MDS_COLUMNS, out=path, exist_ok=replaces, **options))
        session.run(steps)
        summary = session.close()
        if summary is None:
            assert files(directory) == before
            assert path.exists() == replaces
            return
        rows = rows_of(path)
        # Columns come in the order of their names.
        session.check([{name: row[name] for name in session.given[row[SERIAL]]} for row in rows], summary)
        assert all(len(row) == len(MDS_COLUMNS) for row in rows)
        assert jinx.verify(path) == []
