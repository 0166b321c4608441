"""Rows of plain JSON in another order: their lines are copied, and the result is what encoding them again writes."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jinx
from jinx import _core

ROWS = 9000
MAKERS: dict[str, Callable[[int], dict[str, Any]]] = {
    "numbers and strings": lambda i: {"id": i, "score": i / 7 if i % 3 else -float(i), "name": f"né {i % 31}"},
    "wide integers": lambda i: {"a": -(2**62) + i, "b": 2**63 + i, "c": i % 2 == 0, "d": 200},
    "nulls": lambda i: {"early": None if i > 4000 else i, "late": i / 3 if i > 5000 else None, "never": None},
    "absent": lambda i: {"id": i, **({"x": i} if i % 5 == 0 else {})},
    "lists and dicts": lambda i: {"l": list(range(i % 4)), "d": {"a": [i, {"b": None}]}, "e": [], "s": ""},
    "other order of names": lambda i: {"a": 1, "b": 2.0} if i % 2 else {"b": 2.5, "a": 3},
    "mixed kinds": lambda i: {"a": i if i % 2 else i + 0.5, "b": str(i) if i % 3 else i},
    "odd names": lambda i: {'say "x"': i, "a.b": i, "é": i, "new\nline": i, "": i},
    "odd but plain names": lambda i: {"a b": i, "日本": str(i), "'": i * 1.5, "": [i]},
    "a long row": lambda i: {"id": i, "text": "x" * (40_000 if i == 77 else i % 50)},
    "many names": lambda i: {f"n{i % 300}": i},
    "infinite": lambda i: {"score": float("inf") if i == 8000 else float(i)},
    "huge": lambda i: {"n": 10**30 if i == 8000 else i},
    "empty rows": lambda i: {},
}


def assert_as_copied(sources: Any, tmp_path: Path, **options: Any) -> None:
    """A shuffle to a file and to a directory has the bytes of a writer that gets one sample after another."""
    dataset = jinx.open(sources)
    order = np.frombuffer(_core.Ordering.shuffled(len(dataset), 3).positions(0, len(dataset)), dtype="<u8")
    (tmp_path / "copied").mkdir(exist_ok=True)
    for name, shard_size in (("out.jinx", None), ("out", 150_000)):
        with jinx.Writer(tmp_path / "copied" / name, shard_size=shard_size) as writer:
            writer.copy(dataset, order.astype(np.int64))
        jinx.shuffle(sources, tmp_path / name, seed=3, shard_size=shard_size, **options)
        assert files(tmp_path, name) == files(tmp_path / "copied", name)
        assert jinx.verify(tmp_path / name) == []


def files(folder: Path, name: str) -> dict[str, bytes]:
    """The files of an output."""
    paths = (folder / name).iterdir() if (folder / name).is_dir() else folder.glob("out.?inx")
    return {path.name: path.read_bytes() for path in paths}


@pytest.mark.parametrize("memory", ["1GB", 60_000])
@pytest.mark.parametrize("kind", MAKERS)
def test_lines_are_those_of_a_copy(tmp_path, kind, memory):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many(MAKERS[kind](i) for i in range(ROWS))
    assert_as_copied(tmp_path / "in.jinx", tmp_path, memory=memory)


@pytest.mark.parametrize("memory", ["1GB", 60_000])
def test_shards_with_different_columns(tmp_path, memory):
    paths = []
    for number, kind in enumerate(["numbers and strings", "lists and dicts", "nulls", "absent"]):
        paths.append(tmp_path / f"in-{number}.jinx")
        with jinx.Writer(paths[-1]) as writer:
            writer.write_many(MAKERS[kind](i) for i in range(3000))
    assert_as_copied(paths, tmp_path, memory=memory)


@pytest.mark.slow
@pytest.mark.parametrize("other", ["text", {}])
def test_a_column_of_mixed_kinds_is_dropped(tmp_path, other):
    paths = [tmp_path / "numbers.jinx", tmp_path / "others.jinx"]
    jinx.convert(({"x": i, "n": i} for i in range(270_000)), paths[0])
    jinx.convert(({"x": other, "n": -i} for i in range(270_000)), paths[1])
    jinx.shuffle(paths, tmp_path / "out.jinx", seed=1)
    assert [one.path for one in jinx.open(tmp_path / "out.jinx").info().indexed] == ["n"]


def test_long_lines_next_to_each_other(tmp_path):
    rows = [{"id": i, "text": "x" * (30_000 if i % 200 == 0 else 30)} for i in range(20_000)]
    jinx.convert(rows, tmp_path / "in.jinx")
    jinx.sort(tmp_path / "in.jinx", tmp_path / "out.jinx", by="-len(text)", memory="1MB")
    assert list(jinx.open(tmp_path / "out.jinx")["id"]) == [
        row["id"] for row in sorted(rows, key=lambda row: -len(row["text"]))
    ]


def test_views_and_parts(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many(MAKERS["numbers and strings"](i) for i in range(ROWS))
    jinx.open(tmp_path / "in.jinx").filter("id % 2 == 0").save(tmp_path / "even.jinx")
    assert_as_copied(tmp_path / "even.jinx", tmp_path)
    jinx.sort(tmp_path / "in.jinx", tmp_path / "some.jinx", by="-score", where="id < 6000")
    rows = sorted((MAKERS["numbers and strings"](i) for i in range(6000)), key=lambda row: -row["score"])
    assert [dict(sample) for sample in jinx.open(tmp_path / "some.jinx")] == rows
    columns = jinx.open(tmp_path / "in.jinx").select_columns(["name", "id"])
    jinx.shuffle(columns, tmp_path / "narrow.jinx", seed=1)
    assert jinx.open(tmp_path / "narrow.jinx").column_names == ["id", "name"]


def test_views_without_own_columns_are_read_as_the_files_beneath_them(tmp_path):
    paths = [tmp_path / f"in-{i}.jinx" for i in range(2)]
    for path, kind in zip(paths, ("numbers and strings", "lists and dicts"), strict=True):
        with jinx.Writer(path) as writer:
            writer.write_many(MAKERS[kind](i) for i in range(ROWS))
    jinx.open(paths).shuffle(seed=1)[: ROWS // 2].save(tmp_path / "both.jinx")
    jinx.open(tmp_path / "both.jinx")[::-3].save(tmp_path / "some.jinx")
    view = jinx.open(tmp_path / "some.jinx")
    for i, memory in enumerate(("1GB", 60_000)):
        (tmp_path / str(i)).mkdir()
        assert_as_copied(tmp_path / "some.jinx", tmp_path / str(i), memory=memory)
    for change in (
        view.with_columns({"rank": list(range(len(view)))}),
        view.select_columns(["id", "name"]),
        view.with_columns({"name": ["x"] * len(view)}),
    ):
        change.save(tmp_path / "changed.jinx", overwrite=True)
        changed = jinx.open(tmp_path / "changed.jinx")
        jinx.shuffle(tmp_path / "changed.jinx", tmp_path / "out.jinx", seed=4, overwrite=True)
        order = np.frombuffer(_core.Ordering.shuffled(len(view), 4).positions(0, len(view)), dtype="<u8")
        expected = [dict(changed[int(i)]) for i in order]
        assert [dict(sample) for sample in jinx.open(tmp_path / "out.jinx")] == expected


@pytest.mark.parametrize("name", ["out", "out.jinx"])
def test_a_selection_is_copied_as_by_a_writer(tmp_path, name):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many(MAKERS["numbers and strings"](i) for i in range(ROWS))
    (tmp_path / "copied").mkdir()
    shard_size = None if name.endswith(".jinx") else 100_000
    dataset, told = jinx.open(tmp_path / "in.jinx"), list[int]()
    for chosen in (list(range(ROWS)), [5, 5, 8000, 1], list(range(0, ROWS, 7))):
        with jinx.Writer(tmp_path / "copied" / name, shard_size=shard_size, overwrite=True) as writer:
            writer.copy(dataset, chosen)
        jinx.select(tmp_path / "in.jinx", tmp_path / name, positions=chosen, shard_size=shard_size, overwrite=True)
        assert files(tmp_path, name) == files(tmp_path / "copied", name)
        jinx.convert(
            dataset.select(chosen),
            tmp_path / name,
            shard_size=shard_size,
            overwrite=True,
            progress=lambda samples, _bytes, _total: told.append(samples),
        )
        assert files(tmp_path, name) == files(tmp_path / "copied", name)
        assert max(told, default=0) == len(chosen)
        told.clear()


def test_a_column_of_dicts_and_nulls_keeps_its_counts(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"id": i, "meta": {"a": i} if i % 2 else None} for i in range(20_000))
    assert_as_copied(tmp_path / "in.jinx", tmp_path)


def test_a_changed_line_is_not_copied(tmp_path):
    path = tmp_path / "in.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"id": i, "name": "abc"} for i in range(ROWS))
    text = path.read_bytes()
    place = text.index(b'{"id":8123,')
    path.write_bytes(text[: place + 6] + b"9" + text[place + 7 :])
    for memory in ("1GB", 60_000):
        with pytest.raises(jinx.errors.JinxError, match=r"in\.jinx.*8123.*checksum|8123"):
            jinx.sort(path, tmp_path / "out.jinx", by="name", memory=memory)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["in.binx", "in.jinx"]


def test_a_file_of_another_writer_is_encoded_again(tmp_path):
    """Its rows may have blanks, which ours have not."""
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"id": i} for i in range(10))
    rows = [json.dumps({"id": i}, indent=None) for i in range(ROWS)]
    (tmp_path / "in.jsonl").write_text("\n".join(rows) + "\n")
    jinx.shuffle(tmp_path / "in.jsonl", tmp_path / "out.jinx", seed=1)
    with (tmp_path / "out.jinx").open("rb") as file:
        assert file.readline().startswith(b'{"id":')
    assert jinx.verify(tmp_path / "out.jinx") == []


def written(sources: Any, out: Path, **options: Any) -> int:
    """Bytes that a shuffle passes to the system."""

    def passed() -> int:
        lines = Path("/proc/self/io").read_text("ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))

    before = passed()
    jinx.shuffle(sources, out, seed=3, **options)
    return passed() - before


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_rows_of_one_form_are_written_once(tmp_path):
    """Every array has its place from the start, and is not collected in a temporary file."""

    def row(i: int) -> dict[str, Any]:
        return {
            "id": i,
            "score": i / 7,
            "name": f"né {i % 31}",
            "even": i % 2 == 0,
            "list": [i] * (i % 4),
        }

    paths = [tmp_path / "small.jinx", tmp_path / "large.jinx"]
    for path, first in zip(paths, (0, 1 << 40), strict=True):
        with jinx.Writer(path) as writer:
            writer.write_many(row(first + i) for i in range(70_000))
    for sources in (paths[0], paths):
        place = tmp_path / type(sources).__name__
        place.mkdir()
        assert_as_copied(sources, place)
        size = sum(map(len, files(place, "out.jinx").values()))
        # Padding is not written.
        assert size - 1000 <= written(sources, place / "again.jinx") <= size + 20_000


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_lines_move_through_buckets_where_memory_is_short(tmp_path):
    paths = [tmp_path / "in-0.jinx", tmp_path / "in-1.jinx"]
    for path, first in zip(paths, (0, 1 << 40), strict=True):
        with jinx.Writer(path) as writer:
            rows = range(first, first + 70_000)
            writer.write_many({"id": i, "score": i / 7, "name": f"né {i % 31}", "even": i % 2 == 0} for i in rows)
    assert_as_copied(paths, tmp_path, memory="2MB")
    size = sum(map(len, files(tmp_path, "out.jinx").values()))
    assert 1.5 * size <= written(paths, tmp_path / "again.jinx", memory="2MB") <= 2 * size
    jinx.sort(paths, tmp_path / "sorted.jinx", by="-id", memory="2MB")
    ids = jinx.open(tmp_path / "sorted.jinx").column("id").tolist()
    assert ids == [*reversed(range(1 << 40, (1 << 40) + 70_000)), *reversed(range(70_000))]
    assert not list(tmp_path.glob(".*"))


def test_a_changed_line_stops_the_move(tmp_path):
    path = tmp_path / "in.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"id": i, "name": "abc"} for i in range(70_000))
    text = path.read_bytes()
    place = text.index(b'{"id":50123,')
    path.write_bytes(text[: place + 6] + b"9" + text[place + 7 :])
    for memory in ("1GB", "2MB"):
        with pytest.raises(jinx.errors.JinxError, match=r"in\.jinx.*50123.*checksum"):
            jinx.shuffle(path, tmp_path / "out.jinx", seed=1, memory=memory)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["in.binx", "in.jinx"]


@pytest.mark.slow
def test_many_rows_with_gaps(tmp_path):
    """The bits of what is missing fill an array of their own in the sidecar."""
    paths = [tmp_path / "in-0.jinx", tmp_path / "in-1.jinx"]
    rows: list[Callable[[int], dict[str, Any]]] = [
        lambda i: {"id": i, "half": i / 2 if i % 3 else None},
        lambda i: {"id": i, **({"half": i / 4} if i % 5 else {}), "also": i % 100},
    ]
    for path, row in zip(paths, rows, strict=True):
        with jinx.Writer(path) as writer:
            writer.write_many(row(i) for i in range(270_000))
    assert_as_copied(paths, tmp_path)
    (tmp_path / "again").mkdir()
    assert_as_copied(paths, tmp_path / "again", memory="5MB")


@pytest.mark.parametrize("kind", ["small", "signed", "unsigned", "float", "bool", "gaps"])
def test_sorting_by_a_column_of_numbers_is_stable(tmp_path, kind):
    """Enough samples for several parts; those that compare as equal keep their order, in both directions."""
    draw = np.random.default_rng(5)
    count = 150_000
    keys: list[Any] = {
        "small": draw.integers(-3, 4, count).tolist(),
        "signed": draw.integers(-(2**62), 2**62, count).tolist(),
        "unsigned": (draw.integers(0, 2**62, count).astype(np.uint64) * np.uint64(4)).tolist(),
        "float": [*draw.normal(size=count - 6).round(3).tolist(), 0.0, -0.0, 1e308, -1e308, 5e-324, -5e-324],
        "bool": (draw.random(count) < 0.5).tolist(),
        "gaps": [None if number < 0.1 else number for number in draw.random(count).tolist()],
    }[kind]
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": i, "key": key} for i, key in enumerate(keys))
    there, lacking = [i for i in range(count) if keys[i] is not None], [i for i in range(count) if keys[i] is None]
    for memory, descending, missing in (("1GB", False, "last"), ("2MB", True, "drop"), ("2MB", False, "last")):
        out = tmp_path / "out.jinx"
        done = jinx.sort(
            tmp_path / "in.jinx",
            out,
            by="key",
            descending=descending,
            missing=missing,
            memory=memory,
            overwrite=True,
        )
        expected = sorted(there, key=lambda i: keys[i], reverse=descending)
        assert done.missing == len(lacking)
        assert jinx.open(out).column("n").tolist() == expected + (lacking if missing == "last" else [])


@pytest.mark.parametrize(("memory", "plan"), [("1GB", "one pass"), ("4MB", "two passes")])
def test_damaged_cells_are_noticed_in_every_part_of_a_column(tmp_path, memory, plan):
    """Cells are compared where they are read, in chunks of 1 MiB: those of the last rows too."""
    rows, source, out = 200_000, tmp_path / "in.jinx", tmp_path / "out.jinx"
    with jinx.Writer(source) as writer:
        writer.write_many({"id": i << 33, "key": -float(i)} for i in range(rows))
    assert jinx.shuffle(source, out, seed=1, memory=memory).plan == plan
    before = files(tmp_path, "out")
    sidecar = bytearray(source.with_suffix(".binx").read_bytes())
    sidecar[sidecar.index(((rows - 2) << 33).to_bytes(8, "little")) + 5] ^= 1
    source.with_suffix(".binx").write_bytes(sidecar)
    for rewrite, options in ((jinx.shuffle, {"seed": 1}), (jinx.sort, {"by": "key"})):
        with pytest.raises(jinx.CorruptFileError, match="id"):
            rewrite(source, out, memory=memory, overwrite=True, **options)
        assert files(tmp_path, "out") == before
