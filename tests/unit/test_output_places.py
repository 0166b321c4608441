"""Where an output may be: never where it would change what an input is, and where there is room for it."""

import gzip
import json
import os
import shutil
from types import SimpleNamespace

import pytest

import jinx
from jinx import _core
from jinx._disk_space import free_bytes, unpacked_bytes


def write(path, count=5, **options):
    with jinx.Writer(path, **options) as writer:
        for i in range(count):
            writer.write({"id": i, "text": "x" * 20})


COMMANDS = {
    "convert": jinx.convert,
    "shuffle": jinx.shuffle,
    "sort": lambda source, out: jinx.sort(source, out, by="id"),
    "concat": jinx.concat,
    "select": jinx.select,
    "select --view": lambda source, out: jinx.select(source, out, view=True),
    "split": lambda source, out: jinx.split(source, out.with_suffix(""), count=2),
    "dedup": jinx.dedup,
    "compact": jinx.compact,
    "annotate": lambda source, out: jinx.annotate(source, out, function=lambda _: 1),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("out", ["out.jinx", "deeper/out.jinx", "out"])
def test_an_output_inside_an_input_directory_is_refused(tmp_path, command, out):
    folder = tmp_path / "in"
    (folder / "deeper").mkdir(parents=True)
    for name in ("a.jinx", "b.jinx"):
        write(folder / name)
    before = sorted(folder.rglob("*"))
    with pytest.raises(ValueError, match=r"lies in \S+in, an input"):
        COMMANDS[command](folder, folder / out)
    assert sorted(folder.rglob("*")) == before
    assert len(jinx.open(folder)) == 10


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - {"split"}))
def test_an_output_that_a_pattern_of_inputs_would_match_is_refused(tmp_path, command):
    write(tmp_path / "a.jinx")
    with pytest.raises(ValueError, match="would be one of the inputs"):
        COMMANDS[command](str(tmp_path / "*.jinx"), tmp_path / "out.jinx")
    assert len(jinx.open(tmp_path / "*.jinx")) == 5


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_next_to_its_input_is_written(tmp_path, command):
    write(tmp_path / "a.jinx")
    COMMANDS[command](tmp_path / "a.jinx", tmp_path / "out.jinx")
    assert len(jinx.open(tmp_path / "a.jinx")) == 5


def test_a_hidden_output_in_an_input_directory_is_written(tmp_path):
    write(tmp_path / "a.jinx")
    (tmp_path / ".kept").mkdir()
    jinx.shuffle(tmp_path, tmp_path / ".kept" / "out.jinx", seed=1)
    jinx.convert(tmp_path, tmp_path / ".out.jinx")
    assert len(jinx.open(tmp_path)) == 5


def test_a_view_is_not_saved_among_the_shards_of_its_dataset(tmp_path):
    write(tmp_path / "shards", shard_size=100)
    whole = jinx.open(tmp_path / "shards")
    for one in (whole.filter("id > 2"), whole.with_columns({"n": [0] * 5})):
        with pytest.raises(ValueError, match="lies in"):
            one.save(tmp_path / "shards" / "view.jinx")
        one.save(tmp_path / "view.jinx", overwrite=True)


def test_an_output_does_not_take_the_name_of_a_sidecar(tmp_path):
    for name in ("a", "b"):
        with jinx.Writer(tmp_path / f"{name}.jinx") as writer:
            writer.write({"data": bytes(100)})
    for write_to in (jinx.convert, jinx.select):
        with pytest.raises(ValueError, match="the name of a sidecar"):
            write_to(tmp_path / "b.jinx", tmp_path / "a.binx", output_format="jsonl", overwrite=True)
    assert jinx.open(tmp_path / "a.jinx")[0]["data"] == bytes(100)


@pytest.mark.parametrize("taken", ["in.jsonl", "out.jinx", "out.binx"])
def test_rejects_do_not_replace_input_or_output(tmp_path, taken):
    text = '{"id": 1}\nbroken\n'
    (tmp_path / "in.jsonl").write_text(text)
    with pytest.raises(ValueError, match=r"is also an input|is the other output too"):
        jinx.convert(tmp_path / "in.jsonl", tmp_path / "out.jinx", on_error="skip", rejects=tmp_path / taken)
    assert (tmp_path / "in.jsonl").read_text() == text


@pytest.mark.parametrize("taken", ["other.jinx", "other.binx", "shards/jinx.json"])
def test_rejects_do_not_replace_another_dataset(tmp_path, taken):
    (tmp_path / "in.jsonl").write_text('{"id": 1}\nbroken\n')
    for name in ("other.jinx", "shards"):
        with jinx.Writer(tmp_path / name) as writer:
            writer.write({"data": bytes(100)})
    with pytest.raises(ValueError, match="the name of a dataset's file"):
        jinx.convert(tmp_path / "in.jsonl", tmp_path / "out.jinx", on_error="skip", rejects=tmp_path / taken)
    for name in ("other.jinx", "shards"):
        assert jinx.verify(tmp_path / name) == []


def test_a_converted_view_does_not_replace_what_it_shows(tmp_path):
    write(tmp_path / "a.jinx")
    jinx.open(tmp_path / "a.jinx")[:2].save(tmp_path / "view.jinx")
    with pytest.raises(ValueError, match="is also an input"):
        jinx.convert(tmp_path / "view.jinx", tmp_path / "a.jinx", overwrite=True)
    jinx.convert(tmp_path / "view.jinx", tmp_path / "view.jinx", overwrite=True)
    assert (len(jinx.open(tmp_path / "a.jinx")), len(jinx.open(tmp_path / "view.jinx"))) == (5, 2)


def write_lines(path):
    path.write_text("".join(json.dumps({"id": i}) + "\n" for i in range(5)), "utf-8")


def write_mds(path):
    write(path.with_suffix(".jinx"))
    jinx.convert(path.with_suffix(".jinx"), path, output_format="mds")


SOURCES = {"a.jinx": write, "shards": write, "a.jsonl": write_lines, "mds": write_mds}


@pytest.mark.parametrize("name", SOURCES)
def test_a_converted_dataset_object_does_not_replace_what_it_shows(tmp_path, name):
    path = tmp_path / name
    SOURCES[name](path)
    options = {"output_format": "mds"} if name == "mds" else {}
    dataset = jinx.open(path)
    dataset.select([1, 0]).save(tmp_path / "view.jinx")
    for shown in (dataset, dataset[:2], dataset.filter("id < 2"), jinx.open(tmp_path / "view.jinx")):
        with pytest.raises(ValueError, match="is also an input"):
            jinx.convert(shown, path, overwrite=True, **options)
    with pytest.raises(ValueError, match=r"is also an input|holds the input"):
        jinx.convert(dataset, tmp_path, overwrite=True)
    with pytest.raises(ValueError, match=r"is also an input|the name of a dataset's file"):
        jinx.convert(dataset, tmp_path / "out.jsonl", on_error="skip", rejects=path)
    assert jinx.open(tmp_path / "view.jinx")["id"].tolist() == [1, 0]
    assert jinx.convert(path, path, overwrite=True, limit=3, **options).samples == 3


def test_a_link_to_an_input_directory_is_that_directory(tmp_path):
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "a.jinx")
    (tmp_path / "link").symlink_to("in")
    with pytest.raises(ValueError, match="lies in"):
        jinx.shuffle(tmp_path / "in", tmp_path / "link" / "out.jinx")
    with pytest.raises(ValueError, match="lies in"):
        jinx.convert(tmp_path / "link", tmp_path / "in" / "out.jinx")


def test_a_view_saved_through_a_linked_directory_finds_its_base(tmp_path):
    data, deep = tmp_path / "data", tmp_path / "data" / "deep" / "er"
    deep.mkdir(parents=True)
    write(data / "in.jinx")
    (data / "link").symlink_to(deep)
    jinx.open(data / "in.jinx").select([3]).save(data / "link" / "view.jinx")
    # Only the relative path is left.
    shutil.copytree(data, tmp_path / "moved", symlinks=True)
    shutil.rmtree(data)
    assert [sample["id"] for sample in jinx.open(tmp_path / "moved" / "deep" / "er" / "view.jinx")] == [3]


def test_a_path_that_works_through_a_link_and_without_is_kept_as_it_is(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "real" / "in.jinx")
    jinx.open(tmp_path / "link" / "in.jinx").save(tmp_path / "link" / "view.jinx")
    assert json.loads(_core.view_footer(str(tmp_path / "link" / "view.jinx")))["base"][0]["path"] == "in.jinx"


def test_room_is_that_of_the_directory_of_a_link_that_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "elsewhere" / "directory").mkdir(parents=True)
    (tmp_path / "elsewhere" / "a.jinx").touch()
    (tmp_path / "here" / "a.jinx").symlink_to(tmp_path / "elsewhere" / "a.jinx")
    (tmp_path / "here" / "directory").symlink_to(tmp_path / "elsewhere" / "directory")
    asked = []

    def statvfs(path):
        asked.append(path)
        return SimpleNamespace(f_bavail=3, f_frsize=1000)

    monkeypatch.setattr("os.statvfs", statvfs)
    free_bytes(str(tmp_path / "here" / "a.jinx"))
    free_bytes(str(tmp_path / "here" / "directory"))
    assert asked == [str(tmp_path / "here"), str(tmp_path / "elsewhere" / "directory")]


def test_packed_files_say_what_they_unpack_to(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    text, sizes = os.urandom(100) + bytes(100_000), []
    (tmp_path / "a.gz").write_bytes(gzip.compress(text))
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "a.zst").write_bytes(bytes(pyarrow.compress(text, "zstd")))
    (tmp_path / "short.gz").write_bytes(b"ab")
    (tmp_path / "short.zst").write_bytes(b"ab")
    for name in ("a.gz", "plain", "a.zst", "short.gz", "short.zst"):
        sizes += [unpacked_bytes([str(tmp_path / name)])]
    assert sizes == [100_100, 100_100, 100_100, 2, 2]


@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz", "in.parquet"])
def test_too_little_room_for_other_formats_is_said_before_anything_is_written(tmp_path, monkeypatch, name):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"text": os.urandom(500).hex()} for _ in range(100)]
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if name == "in.parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / name)
    else:
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    write(tmp_path / "out.jinx")
    before = (tmp_path / "out.jinx").read_bytes()
    monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(f_bavail=95, f_frsize=1000))
    for command in (jinx.convert, jinx.concat, jinx.dedup):
        with pytest.raises(OSError, match=r"are needed here, and 95\.0 kB are free"):
            command(tmp_path / name, tmp_path / "out.jinx", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "out.jinx"])
    assert (tmp_path / "out.jinx").read_bytes() == before
    assert jinx.convert(tmp_path / name, tmp_path / "few.jinx", limit=3).samples == 3
