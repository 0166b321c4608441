"""`jinx.concat`, `jinx.select` and `jinx.compact`, and what all rewriting commands have in common."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jinx
import samples
from jinx._cli.program import run
from jinx._rewrite.positions_file import Origin, read_positions, write_positions


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return samples.write(tmp_path / "base.jinx")


def names(directory: Path) -> list[str]:
    return sorted(one.name for one in directory.iterdir())


def rows(path) -> list:
    return [samples.plain(one) for one in jinx.open(path)]


def test_concat_joins_mixed_formats_in_order(base, tmp_path):
    few = jinx.open(base)[:4].select_columns(["id", "n", "image"])
    for name in ("a.parquet", "b.parquet", "c.jsonl", "d.mds", "e.msgpack", "f.jsonl.gz", "g"):
        jinx.convert(few, tmp_path / name, **({"shard_size": 1000} if name == "g" else {}))
    given = ["a.parquet", "b.parquet", "base.jinx", "c.jsonl", "d.mds", "e.msgpack", "f.jsonl.gz", "g"]
    done = jinx.concat([tmp_path / name for name in given], tmp_path / "all.jinx")
    assert done.samples == 50 + 7 * 4
    found = rows(tmp_path / "all.jinx")
    expected = [samples.plain(one) for one in few]
    assert found[:4] == found[4:8] == found[58:62] == found[62:66] == found[74:] == expected
    assert found[8:58] == rows(base)
    assert jinx.verify(tmp_path / "all.jinx") == []
    assert not [name for name in names(tmp_path) if name.startswith(".")]


def test_concat_keeps_an_arrow_schema_that_all_inputs_have(tmp_path):
    for name, start in (("a", 0), ("b", 10)):
        pq.write_table(pa.table({"n": pa.array(range(start, start + 10), pa.int16())}), tmp_path / f"{name}.parquet")
    jinx.concat([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "all.jinx")
    assert jinx.open(tmp_path / "all.jinx").to_arrow().schema.field("n").type == pa.int16()


def test_concat_in_memory_is_a_view(base):
    ds = jinx.open(base)
    assert len(jinx.concat([ds, ds[:5]])) == 55
    with pytest.raises(TypeError, match="to join files, name the output"):
        jinx.concat([base])


def test_views_need_files_that_are_read_in_place(base, tmp_path):
    jinx.convert(base, tmp_path / "c.jsonl", columns=["id", "n"])
    assert jinx.concat([base, tmp_path / "c.jsonl"], tmp_path / "both.jinx", view=True).samples == 100
    assert len(jinx.open(tmp_path / "both.jinx").info().bases) == 2
    jinx.convert(base, tmp_path / "d.parquet", columns=["id"])
    with pytest.raises(ValueError, match=r"a view shows files that are read in place.*jinx convert \S+ d\.jinx"):
        jinx.concat([base, tmp_path / "d.parquet"], tmp_path / "more.jinx", view=True)


@pytest.mark.parametrize("suffix", ["npy", "json", "txt"])
@pytest.mark.parametrize("view", [False, True])
def test_select_by_a_file(base, tmp_path, suffix, view):
    file, chosen = tmp_path / f"chosen.{suffix}", [7, 0, 49, 7]
    write_positions(file, chosen, Origin.of(jinx.open(base)))
    jinx.select(base, tmp_path / "out.jinx", file, view=view)
    whole = rows(base)
    assert rows(tmp_path / "out.jinx") == [whole[i] for i in chosen]
    jinx.select(base, tmp_path / "some.jinx", file, view=view, where="n < 10")
    assert jinx.open(tmp_path / "some.jinx")["n"].tolist() == [7, 0, 7]


def test_select_by_what_a_dataset_takes(base, tmp_path):
    for i, chosen in enumerate(([3, -1], slice(0, 50, 10), np.arange(50) % 25 == 1)):
        jinx.select(base, tmp_path / f"{i}.jinx", chosen)
    assert [len(jinx.open(tmp_path / f"{i}.jinx")) for i in range(3)] == [2, 5, 2]


def test_positions_of_another_dataset_are_refused(base, tmp_path):
    other = samples.write(tmp_path / "other.jinx", count=49)
    write_positions(tmp_path / "p.npy", [0, 1], Origin.of(jinx.open(other)))
    message = r"p\.npy: these positions are of another dataset \(id \w+, 49 samples\), not of this one \(id \w+, 50\)"
    with pytest.raises(jinx.MismatchError, match=message):
        jinx.select(base, tmp_path / "out.jinx", tmp_path / "p.npy")
    # The same samples in other files are the same dataset; in another order they are not.
    jinx.convert(base, tmp_path / "copy.jinx")
    write_positions(tmp_path / "p.npy", [0, 1], Origin.of(jinx.open(base)))
    assert jinx.select(tmp_path / "copy.jinx", tmp_path / "out.jinx", tmp_path / "p.npy").samples == 2
    jinx.open(base)[::-1].save(tmp_path / "back.jinx")
    with pytest.raises(jinx.MismatchError):
        jinx.select(tmp_path / "back.jinx", tmp_path / "out2.jinx", tmp_path / "p.npy")
    jinx.open(base)[:].save(tmp_path / "same.jinx")
    assert jinx.select(tmp_path / "same.jinx", tmp_path / "out3.jinx", tmp_path / "p.npy").samples == 2


@pytest.mark.parametrize("bad", [50, -1, 2**40])
def test_positions_out_of_range_are_refused(base, tmp_path, bad):
    np.save(tmp_path / "p.npy", np.array([0, bad]))
    with pytest.raises(IndexError, match=rf"p\.npy: position {bad} is out of range for 50 samples"):
        jinx.select(base, tmp_path / "out.jinx", tmp_path / "p.npy")
    assert names(tmp_path) == ["base.binx", "base.jinx", "p.npy"]


def test_numpy_reads_what_we_write_and_we_read_what_it_writes(tmp_path):
    write_positions(tmp_path / "p.npy", [3, 1], Origin("abc", 7))
    assert np.load(tmp_path / "p.npy").tolist() == np.load(tmp_path / "p.npy", mmap_mode="r").tolist() == [3, 1]
    found = read_positions(tmp_path / "p.npy")
    assert (found.values.tolist(), found.origin) == ([3, 1], Origin("abc", 7))
    for dtype in ("u8", ">i4", "u1"):
        np.save(tmp_path / "q.npy", np.array([5, 4], dtype=dtype))
        found = read_positions(tmp_path / "q.npy")
        assert (found.values.tolist(), found.origin) == ([5, 4], None)


def test_what_text_and_json_may_hold(tmp_path):
    (tmp_path / "p.txt").write_text("# made by hand\n3\n\n  1 \n")
    (tmp_path / "p.json").write_text('{"note": "x", "positions": [3, 1]}')
    (tmp_path / "list").write_text("[3, 1]")
    for name in ("p.txt", "p.json", "list"):
        found = read_positions(tmp_path / name)
        assert (found.values.tolist(), found.origin) == ([3, 1], None)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.txt", "1\n2.5\n", "line 2 is '2.5', not a position"),
        ("p.txt", "1" * 30, "is '1+', not a position"),
        ("p.json", '{"positions": 3}', "a list, or a dict with a list"),
        ("p.json", "[1, true]", "element 1 is True"),
        ("p.json", "[1", "this is not JSON"),
        ("p.json", "[123456789012345678901234567890]", "beyond every dataset"),
        ("p.npy", "\x93NUMPY\x01\x00", "not an array of positions"),
        ("p.npy", "\x93NUMPY\x01\x00\x04\x00{'a(", "not an array of positions"),
        ("p.npz", "PK\x03\x04", "a ZIP archive"),
    ],
)
def test_files_that_hold_no_positions(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(jinx.CorruptFileError, match=rf"{name}: .*{message}"):
        read_positions(tmp_path / name)


@pytest.mark.parametrize("values", [np.zeros((2, 2), int), np.zeros(3), np.array([None]), np.array([2**64 - 1])])
def test_arrays_that_are_no_positions(tmp_path, values):
    np.save(tmp_path / "p.npy", values, allow_pickle=True)
    with pytest.raises(jinx.CorruptFileError, match=r"p\.npy"):
        read_positions(tmp_path / "p.npy")


def test_a_header_that_announces_terabytes_costs_nothing(tmp_path):
    with (tmp_path / "p.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"shape": (10**12,), "fortran_order": False, "descr": "<u8"})
        file.write(bytes(800))
    with pytest.raises(jinx.CorruptFileError, match="not an array of positions"):
        read_positions(tmp_path / "p.npy")


def test_compact_joins_shards(base, tmp_path):
    jinx.convert(base, tmp_path / "small", shard_size=2000)
    done = jinx.compact(tmp_path / "small", tmp_path / "large")
    assert done.shards_before > 10
    assert (done.shards, done.samples) == (1, 50)
    assert rows(tmp_path / "large") == rows(base)
    whole = jinx.compact(tmp_path / "small", tmp_path / "whole.jinx", where="n > 40", view=True)
    assert (whole.samples, jinx.open(tmp_path / "whole.jinx").info().has_positions) == (9, True)


@pytest.mark.parametrize("out", ["base.jinx", "link.jinx", "hard.jinx", "view.jinx", "directory"])
def test_an_output_that_is_an_input_is_refused(base, tmp_path, out):
    (tmp_path / "link.jinx").symlink_to("base.jinx")
    (tmp_path / "hard.jinx").hardlink_to(base)
    jinx.open(base)[:3].save(tmp_path / "view.jinx")
    samples.write(tmp_path / "directory", shard_size=2000)
    source = [tmp_path / "view.jinx", tmp_path / "directory"]
    before = names(tmp_path), rows(base)
    for command in (jinx.concat, jinx.dedup, jinx.compact, jinx.select):
        with pytest.raises(ValueError, match="is an input of the same command"):
            command(source, tmp_path / out, overwrite=True)
    assert (names(tmp_path), rows(base)) == before


def test_too_little_room_is_said_before_anything_is_written(base, tmp_path, monkeypatch):
    monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(f_bavail=10, f_frsize=1000))
    for command in (jinx.concat, jinx.dedup, jinx.compact, jinx.select):
        with pytest.raises(OSError, match=r"about \d+\.\d kB are needed here, and 10\.0 kB are free"):
            command(base, tmp_path / "out.jinx")
    with pytest.raises(OSError, match="are needed here"):
        jinx.split(base, tmp_path / "parts", count=2)
    assert names(tmp_path) == ["base.binx", "base.jinx"]
    # A tenth of it would fit, and so would a view.
    assert jinx.select(base, tmp_path / "few.jinx", range(5)).samples == 5
    assert jinx.select(base, tmp_path / "view.jinx", view=True).samples == 50


def test_damage_is_found_and_not_copied(base, tmp_path):
    data = bytearray(base.with_suffix(".binx").read_bytes())
    data[2000] ^= 1
    base.with_suffix(".binx").write_bytes(data)
    with pytest.raises(jinx.CorruptFileError):
        jinx.concat([jinx.open(base, verify="none")], tmp_path / "out.jinx")
    assert names(tmp_path) == ["base.binx", "base.jinx"]


def test_an_existing_output_is_replaced_only_when_asked(base, tmp_path):
    jinx.select(base, tmp_path / "out.jinx", [1])
    with pytest.raises(FileExistsError):
        jinx.select(base, tmp_path / "out.jinx", [2, 3])
    jinx.select(base, tmp_path / "out.jinx", [2, 3], overwrite=True)
    assert len(jinx.open(tmp_path / "out.jinx")) == 2
    with pytest.raises(TypeError, match=r"no option 'overwite'.*overwrite"):
        jinx.select(base, tmp_path / "out.jinx", [2], overwite=True)


def test_progress_counts_up_to_the_end(base, tmp_path):
    told: list[tuple[int, int, int | None]] = []
    jinx.split(base, tmp_path / "parts", count=5, progress=lambda *now: told.append(now))
    assert [samples_ for samples_, _, _ in told] == [10, 20, 30, 40, 50]
    assert all(done <= total for _, done, total in told if total is not None)


def test_commands(base, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("p.npy", [4, 2])
    assert run(["concat", "base.jinx", "base.jinx", "all.jinx", "--view"]) == 0
    assert "all.jinx: 100 samples" in capsys.readouterr().err
    assert run(["select", "base.jinx", "two.jinx", "--positions", "p.npy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 2
    assert run(["select", "base.jinx", "some.parquet", "--where", "n < 3", "--output-format", "jsonl"]) == 0
    assert run(["compact", "base.jinx", "large", "--shard-size", "1GB"]) == 0
    assert "1 file before, 1 now" in capsys.readouterr().err
    assert run(["select", "base.jinx", "two.jinx"]) == 2
    assert "two.jinx exists" in capsys.readouterr().err
    assert run(["compact", "base.jinx"]) == 2
    assert "jinx compact base.jinx out.jinx" in capsys.readouterr().err
    assert run(["select", "two.jinx", "x.jinx", "--positions", "p.npy"]) == 2
    assert "position 4 is out of range" in capsys.readouterr().err
