"""Arrays with chunks of any size, whole and with a changed byte: no reader ever shows another position or cell."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jinx
from jinx._reference import reader
from jinx._saved_views.bases import read_view
from jinx.errors import CorruptFileError

SPEC = Path(__file__).resolve().parents[2] / "spec" / "vectors"
CHUNKS = st.integers(1, 20).map(lambda words: 8 * words)
POSITIONS = st.lists(st.integers(0, 29), min_size=1, max_size=60)


@contextmanager
def spec_writer() -> Iterator[Any]:
    """The writer that is made from the specification alone."""
    sys.path.insert(0, str(SPEC))
    try:
        import write_1_1

        yield write_1_1
    finally:
        sys.path.remove(str(SPEC))


def view_of(directory: Path, positions: list[int], chunk: int) -> tuple[Path, list[dict[str, int]]]:
    """A view with chunks over a base of 30 samples, and what it shows."""
    rows = [{"n": i * 7} for i in range(30)]
    base, plain, view = (directory / f"{name}.jinx" for name in ("base", "plain", "view"))
    with jinx.Writer(base) as writer:
        writer.write_many(rows)
    jinx.open(base)[:1].save(plain)
    entries = [dict(entry) for entry in read_view(str(plain))["base"]]
    with spec_writer() as spec:
        made = spec.Writer(view, pointers=True, chunk=chunk)
        made.close(view=spec.View(entries, [None], positions, []))
    return view, [rows[i] for i in positions]


@given(positions=POSITIONS, chunk=CHUNKS, io=st.sampled_from(["mmap", "pread"]))
def test_both_readers_read_chunks_of_any_size(positions, chunk, io):
    with tempfile.TemporaryDirectory() as name:
        view, expected = view_of(Path(name), positions, chunk)
        dataset = jinx.open(view, io=io)
        assert [sample.to_dict() for sample in dataset] == expected
        assert jinx.verify(view) == []
        [pair] = reader.open_pairs(view)
        assert [pair[i] for i in range(pair.count)] == expected


@given(positions=POSITIONS, chunk=CHUNKS, data=st.data(), io=st.sampled_from(["mmap", "pread"]))
def test_a_changed_byte_of_a_position_is_seen_and_hides_only_its_chunk(positions, chunk, data, io):
    with tempfile.TemporaryDirectory() as name:
        view, expected = view_of(Path(name), positions, chunk)
        at = data.draw(st.integers(0, 8 * len(positions) - 1))
        bit = data.draw(st.integers(0, 7))
        side = view.with_suffix(".binx")
        body = bytearray(side.read_bytes())
        start = len(body) - 8 * len(positions)
        body[start + at] ^= 1 << bit
        side.write_bytes(body)
        dataset = jinx.open(view, io=io)
        size = min(8 * len(positions), chunk)
        damaged = range(at // size * size, at // size * size + size)
        for i in data.draw(st.permutations(range(len(positions)))):
            if 8 * i in damaged:
                with pytest.raises(CorruptFileError):
                    dataset[i].to_dict()
            else:
                assert dataset[i].to_dict() == expected[i]
        assert jinx.verify(view)
        with pytest.raises(reader.CorruptFileError):
            reader.open_pairs(view)


@given(values=st.lists(st.integers(0, 2**40), min_size=2, max_size=60), chunk=CHUNKS, data=st.data())
def test_a_changed_cell_never_answers_a_filter(values, chunk, data):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "a.jinx"
        with spec_writer() as spec:
            writer = spec.Writer(path, pointers=True, chunk=chunk)
            for value in values:
                writer.write({"n": value})
            writer.column(("n",))
            footer = writer.close()
        first = data.draw(st.integers(0, len(values) - 1))
        limit = data.draw(st.sampled_from(values))
        expected = [value for value in values[first:] if value >= limit]
        found = jinx.open(path)[first:].filter(f"n >= {limit}")
        assert [sample["n"] for sample in found] == expected
        [column] = footer["columns"]
        place = column["data"]
        body = bytearray(path.with_suffix(".binx").read_bytes())
        body[place["offset"] + data.draw(st.integers(0, place["length"] - 1))] ^= 1
        path.with_suffix(".binx").write_bytes(body)
        with suppress(CorruptFileError):
            found = jinx.open(path)[first:].filter(f"n >= {limit}")
            assert [sample["n"] for sample in found] == expected
        assert jinx.verify(path)
