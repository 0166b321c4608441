"""Every kind of input that people have: arrays, directories, tars, URLs, paths to images."""

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import datasets
import msgpack
import polars as pl
import pyarrow as pa
import pytest
import zstandard
from PIL import Image
from pyarrow import feather
from pyarrow import parquet as pq

import jinx
from jinx._cli.program import run


def png(number: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (number + 8, 8), (number, 0, 0)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    directory = tmp_path / "pictures"
    (directory / "coco").mkdir(parents=True)
    for number in range(4):
        (directory / "coco" / f"{number}.png").write_bytes(png(number))
    return directory


def llava(number: int) -> dict[str, Any]:
    return {
        "id": str(number),
        "image": f"coco/{number}.png",
        "conversations": [{"from": "human", "value": '<image>\n[{"what": "]"}]'}, {"from": "gpt", "value": "é\\"}],
    }


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["llava.json", "llava.json.gz"])
def test_a_json_array(tmp_path, indent, name):
    rows = [llava(number) for number in range(4)]
    text = json.dumps(rows, indent=indent).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert jinx.convert(tmp_path / name, tmp_path / "out.jinx").samples == 4
    assert jinx.open(tmp_path / "out.jinx").to_list() == rows
    assert list(jinx.stream(tmp_path / name)) == rows


def test_a_json_array_that_is_cut_off_or_broken(tmp_path):
    (tmp_path / "a.json").write_text('[{"a": 1}, {"a": ', "utf-8")
    with pytest.raises(jinx.TruncatedFileError, match="does not end"):
        jinx.convert(tmp_path / "a.json", tmp_path / "out.jinx")
    (tmp_path / "a.json").write_text('[{"a": 1}, {"a" 2}, {"a": 3}]', "utf-8")
    with pytest.raises(jinx.CorruptFileError, match="sample 1"):
        jinx.convert(tmp_path / "a.json", tmp_path / "out.jinx")
    assert not (tmp_path / "out.jinx").exists()
    with pytest.raises(jinx.UnsupportedError, match=r"a JSON array; run: jinx convert .*a\.json"):
        jinx.open(tmp_path / "a.json")


def test_embedded_pictures(tmp_path, pictures):
    rows = [llava(number) for number in range(4)]
    (tmp_path / "llava.json").write_text(json.dumps(rows), "utf-8")
    jinx.convert(tmp_path / "llava.json", tmp_path / "out.jinx", embed="image", root=pictures)
    ds = jinx.open(tmp_path / "out.jinx")
    assert [sample["image"] for sample in ds] == [png(number) for number in range(4)]
    assert ds.schema["image"] == "bytes (image/png)"
    jinx.convert(tmp_path / "out.jinx", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["image"][3].as_py() == {"bytes": png(3), "path": "coco/3.png"}


def test_embedded_lists_and_nested_columns(tmp_path, pictures):
    row = {"images": ["coco/0.png", "coco/1.png"], "turns": [{"image": "coco/2.png", "text": "coco/2.png"}, {}]}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    jinx.convert(tmp_path / "rows.jsonl", tmp_path / "out.jinx", embed=["images", "turns.image"], root=pictures)
    sample = jinx.open(tmp_path / "out.jinx")[0]
    assert sample["images"] == [png(0), png(1)]
    assert sample["turns"] == [{"image": png(2), "text": "coco/2.png"}, {}]
    decoded = jinx.open(tmp_path / "out.jinx", decode=True)[0]
    assert [picture.size for picture in [*decoded["images"], decoded["turns"][0]["image"]]] == [(8, 8), (9, 8), (10, 8)]


def test_pictures_that_are_missing(tmp_path, pictures):
    (pictures / "coco" / "1.png").unlink()
    lines = "".join(json.dumps(llava(number)) + "\n" for number in range(4))
    (pictures / "rows.jsonl").write_text(lines, "utf-8")
    with pytest.raises(OSError, match=r"rows.jsonl: line 2, column 'image'.*'coco/1.png' is not in.*--missing skip"):
        jinx.convert(pictures / "rows.jsonl", tmp_path / "a.jinx", embed="image")
    assert not (tmp_path / "a.jinx").exists()
    done = jinx.convert(pictures / "rows.jsonl", tmp_path / "b.jinx", embed="image", missing="skip")
    assert (done.samples, done.skipped) == (3, 1)
    assert list(jinx.open(tmp_path / "b.jinx")["id"]) == ["0", "2", "3"]
    jinx.convert(pictures / "rows.jsonl", tmp_path / "c.jinx", embed="image", missing="null")
    assert [sample["image"] is None for sample in jinx.open(tmp_path / "c.jinx")] == [False, True, False, False]
    with pytest.raises(KeyError, match="did you mean 'image'"):
        jinx.convert(pictures / "rows.jsonl", tmp_path / "d.jinx", embed="imgae")


def test_no_file_outside_of_the_root_is_read(tmp_path, pictures):
    (tmp_path / "secret.png").write_bytes(png(9))
    for path in ("../secret.png", str(tmp_path / "secret.png"), "https://example.org/a.png"):
        (tmp_path / "rows.jsonl").write_text(json.dumps({"image": path}) + "\n", "utf-8")
        with pytest.raises(jinx.JinxError, match=r"leads out|is a URL"):
            jinx.convert(tmp_path / "rows.jsonl", tmp_path / "a.jinx", embed="image", root=pictures, missing="null")


def test_media_beside_the_lines_and_back(tmp_path, pictures):
    rows = "".join(json.dumps(llava(number % 2)) + "\n" for number in range(4))
    (pictures / "rows.jsonl").write_text(rows, "utf-8")
    jinx.convert(pictures / "rows.jsonl", tmp_path / "a.jinx", embed="image")
    jinx.convert(tmp_path / "a.jinx", tmp_path / "b.jsonl", media_dir=tmp_path / "media")
    paths = [row["image"] for row in jinx.stream(tmp_path / "b.jsonl")]
    assert len(set(tmp_path.glob("media/*/*.png"))) == 2
    assert (tmp_path / paths[1]).read_bytes() == png(1)
    jinx.convert(tmp_path / "b.jsonl", tmp_path / "c.jinx", embed="image")
    assert [sample["image"] for sample in jinx.open(tmp_path / "c.jinx")] == [png(number % 2) for number in range(4)]


def tar_of(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz" if path.suffix in {".gz", ".tgz"} else "w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


@pytest.mark.parametrize("suffix", ["tar", "tar.gz", "tgz"])
def test_webdataset_tars(tmp_path, suffix):
    for shard in range(2):
        files: dict[str, bytes] = {}
        for number in range(shard * 3, shard * 3 + 3):
            files[f"{number:06}.png"] = png(number)
            files[f"{number:06}.json"] = json.dumps({"n": number}).encode()
            files[f"{number:06}.txt"] = f"text {number}".encode()
            files[f"{number:06}.cls"] = str(number).encode()
        tar_of(tmp_path / f"shard-{shard:04}.{suffix}", files)
    assert jinx.convert(str(tmp_path / f"shard-*.{suffix}"), tmp_path / "out.jinx").samples == 6
    ds = jinx.open(tmp_path / "out.jinx")
    expected = {"__key__": "000004", "png": png(4), "json": {"n": 4}, "txt": "text 4", "cls": 4}
    assert ds[4] == expected
    assert jinx.open(tmp_path / "out.jinx", decode=True)[4]["png"].size == (12, 8)


def test_a_tar_that_ends_too_early(tmp_path):
    tar_of(tmp_path / "a.tar", {"0.bin": bytes(5000)})
    (tmp_path / "a.tar").write_bytes((tmp_path / "a.tar").read_bytes()[:2000])
    with pytest.raises(jinx.TruncatedFileError, match=r"a\.tar: .*ends inside 0\.bin"):
        jinx.convert(tmp_path / "a.tar", tmp_path / "out.jinx")
    tar_of(tmp_path / "a.tar", {"0.bin": bytes(512)})
    (tmp_path / "a.tar").write_bytes((tmp_path / "a.tar").read_bytes()[:1024])
    with pytest.raises(jinx.TruncatedFileError, match="without its end mark"):
        jinx.convert(tmp_path / "a.tar", tmp_path / "out.jinx")


def inputs() -> dict[str, bytes]:
    """The same rows in every format that may be compressed as a file."""
    rows = [{"n": n, "t": hashlib.sha256(str(n).encode()).hexdigest()} for n in range(2000)]
    stream, archive = io.BytesIO(), io.BytesIO()
    with pa.ipc.new_stream(stream, (table := pa.Table.from_pylist(rows)).schema) as writer:
        writer.write_table(table)
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for row in rows[:50]:
            member = tarfile.TarInfo(f"{row['n']}.txt")
            member.size = 64
            tar.addfile(member, io.BytesIO(row["t"].encode()))
    return {
        "jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "json": json.dumps(rows).encode(),
        "msgpack": b"".join(map(msgpack.packb, rows)),
        "arrow": stream.getvalue(),
        "tar": archive.getvalue(),
    }


def changed(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


@pytest.mark.parametrize("codec", ["gz", "zst"])
@pytest.mark.parametrize("format", ["jsonl", "json", "msgpack", "arrow", "tar"])
def test_damaged_compressed_inputs_have_one_cause(tmp_path, format, codec):
    pack = gzip.compress if codec == "gz" else zstandard.ZstdCompressor(write_checksum=True).compress
    packed = pack(inputs()[format])
    cut = [packed[:end] for end in (0, 3, len(packed) // 2, len(packed) - 2)]
    damaged = [changed(packed, at) for at in (len(packed) // 2, len(packed) - 3)]
    path = tmp_path / f"a.{format}.{codec}"
    for error, files in ((jinx.TruncatedFileError, cut), (jinx.CorruptFileError, damaged)):
        for data in files:
            path.write_bytes(data)
            with pytest.raises(error, match=f"a.{format}.{codec}"):
                jinx.convert(path, tmp_path / "out.jinx")
            with pytest.raises(error, match=f"a.{format}.{codec}"):
                list(jinx.stream(path))
    path.write_bytes(packed)
    assert jinx.convert(path, tmp_path / "out.jinx").samples == len(list(jinx.stream(path)))


def test_a_damaged_tar_is_corrupt(tmp_path):
    path = tmp_path / "a.tar"
    path.write_bytes(changed(inputs()["tar"], 1024 + 130))
    with pytest.raises(jinx.CorruptFileError, match="not a whole tar archive"):
        jinx.convert(path, tmp_path / "out.jinx")


def test_blank_lines_are_no_samples(tmp_path):
    for text in ["\n", "\n" * 5000, " \r\n" * 5000]:
        (tmp_path / "blank.jsonl").write_text(text, "utf-8")
        assert len(jinx.open(tmp_path / "blank.jsonl")) == 0
        assert list(jinx.stream(tmp_path / "blank.jsonl")) == []
    (tmp_path / "late.jsonl").write_text("\n" * 5000 + '{"a": 1}\n', "utf-8")
    assert jinx.open(tmp_path / "late.jsonl").to_list() == [{"a": 1}]
    (tmp_path / "late.jsonl").write_text("\n" * 5000 + "a,b\n", "utf-8")
    with pytest.raises(jinx.CorruptFileError, match="not JSON Lines"):
        jinx.open(tmp_path / "late.jsonl")


def test_directories_by_split(tmp_path):
    directory = tmp_path / "hub"
    (directory / "data").mkdir(parents=True)
    for split, number, count in [("train", 0, 10), ("train", 1, 5), ("test", 0, 3)]:
        table = pa.table({"split": [split] * count, "n": list(range(count))})
        pq.write_table(table, directory / "data" / f"{split}-{number:05}-of-00002.parquet")
    (directory / "README.md").write_text("---\n---\n", "utf-8")
    assert jinx.convert(directory, tmp_path / "out").samples == 18
    train, test = jinx.open(tmp_path / "out" / "train"), jinx.open(tmp_path / "out", split="test")
    assert (len(train), len(test)) == (15, 3)
    assert set(train["split"]) == {"train"}
    assert train.info().split == "train"
    jinx.convert(directory, tmp_path / "one.jinx", split="test")
    assert len(jinx.open(tmp_path / "one.jinx")) == 3
    with pytest.raises(ValueError, match=r"the splits .*train.*a name without a suffix.*--split"):
        jinx.convert(directory, tmp_path / "all.jinx")
    with pytest.raises(ValueError, match="did you mean 'train'"):
        jinx.convert(directory, tmp_path / "x.jinx", split="trian")


def test_files_without_splits_are_one_dataset(tmp_path):
    for name in ("part-00000-of-00002.jsonl", "part-00001-of-00002.jsonl"):
        (tmp_path / name).write_text('{"a":1}\n', "utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "10.jsonl").write_text('{"a":10}\n', "utf-8")
    (tmp_path / "deep" / "9.jsonl").write_text('{"a":9}\n', "utf-8")
    out = tmp_path.parent / f"{tmp_path.name}.jinx"
    jinx.convert(tmp_path, out)
    assert jinx.open(out)["a"].tolist() == [9, 10, 1, 1]


def test_schemas_of_many_parquet_files_are_one(tmp_path):
    pq.write_table(pa.table({"a": pa.array([1], pa.int32()), "b": ["x"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"c": [[1.5]], "a": pa.array([2**40], pa.int64())}), tmp_path / "1.parquet")
    jinx.convert(str(tmp_path / "*.parquet"), tmp_path / "out.jinx")
    ds = jinx.open(tmp_path / "out.jinx")
    assert ds.to_list() == [{"a": 1, "b": "x", "c": None}, {"c": [1.5], "a": 2**40, "b": None}]
    assert ds.to_arrow().schema.field("a").type == pa.int64()
    jinx.convert(str(tmp_path / "[01].parquet"), tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").to_pylist()[1] == {"a": 2**40, "b": None, "c": [1.5]}
    pq.write_table(pa.table({"a": ["text"]}), tmp_path / "2.parquet")
    with pytest.raises(jinx.MismatchError, match=r"2\.parquet: column 'a': the column is Utf8 here, and Int64 in"):
        jinx.convert(str(tmp_path / "[012].parquet"), tmp_path / "x.jinx")


@pytest.mark.parametrize("name", ["a.arrow", "a.arrows", "a.feather", "a.arrow.gz"])
def test_arrow_files_and_streams(tmp_path, name):
    table = pa.table({"n": [1, 2, None], "t": ["a", None, "c"], "l": [[1], [], None], "b": [b"x" * 100, b"", None]})
    if name.endswith("feather"):
        feather.write_feather(table, tmp_path / name)  # compressed with lz4
    else:
        kind = pa.ipc.new_stream if "arrows" in name else pa.ipc.new_file
        buffer = io.BytesIO()
        with kind(buffer, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
        whole = buffer.getvalue()
        (tmp_path / name).write_bytes(gzip.compress(whole) if name.endswith("gz") else whole)
    jinx.convert(tmp_path / name, tmp_path / "a.jinx")
    assert jinx.open(tmp_path / "a.jinx").to_arrow().equals(table)
    assert list(jinx.stream(tmp_path / name, columns=["n"])) == [{"n": 1}, {"n": 2}, {"n": None}]
    if not name.endswith("gz"):
        with pytest.raises(jinx.UnsupportedError, match=r"an Arrow IPC file; run: jinx convert .* .*a\.jinx"):
            jinx.open(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / "cut.arrow").write_bytes((gzip.decompress(whole) if name.endswith("gz") else whole)[:700])
    with pytest.raises(jinx.JinxError, match=r"cut\.arrow: the Arrow data ends early"):
        jinx.convert(tmp_path / "cut.arrow", tmp_path / "b.jinx")


@pytest.mark.parametrize("write", ["write_ipc", "write_ipc_stream"])
def test_arrow_from_polars(tmp_path, write):
    frame = pl.DataFrame({"n": [1, 2], "t": ["a", "a text of more than twelve letters"]})
    getattr(frame, write)(tmp_path / "a.ipc")
    jinx.convert(tmp_path / "a.ipc", tmp_path / "a.jinx")
    assert jinx.open(tmp_path / "a.jinx").to_list() == frame.to_dicts()


def test_what_hugging_face_saved(chat_parquet, tmp_path):
    whole = datasets.load_dataset("parquet", data_files=str(chat_parquet), split="train", cache_dir=str(tmp_path / "c"))
    whole.save_to_disk(tmp_path / "one", num_shards=2)
    datasets.load_from_disk(tmp_path / "one").filter(lambda row: row["width"] > 300)  # leaves a file next to the data
    assert jinx.convert(tmp_path / "one", tmp_path / "one.jinx").samples == len(whole)
    jinx.convert(chat_parquet, tmp_path / "direct.jinx")
    ds = jinx.open(tmp_path / "one.jinx")
    assert ds.to_list() == jinx.open(tmp_path / "direct.jinx").to_list()
    assert ds.schema["image"] == "bytes (image/jpeg)"
    datasets.DatasetDict({"train": whole, "test": whole.select(range(7))}).save_to_disk(tmp_path / "two")
    jinx.convert(tmp_path / "two", tmp_path / "out")
    assert [len(jinx.open(tmp_path / "out" / split)) for split in ("train", "test")] == [len(whole), 7]


def test_nulls_that_arrow_fills_in_go(tmp_path):
    content = [[{"type": "text", "text": "hi"}], [{"type": "image", "image": 1}]]
    pq.write_table(pa.table({"content": content, "top": [None, 1]}), tmp_path / "a.parquet")
    jinx.convert(tmp_path / "a.parquet", tmp_path / "a.jinx", drop_nulls=True)
    assert jinx.open(tmp_path / "a.jinx").to_list() == [
        {"content": content[0], "top": None},
        {"content": content[1], "top": 1},
    ]


def test_columns_left_out(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a":1,"b":2,"c":3}\n', "utf-8")
    jinx.convert(tmp_path / "a.jsonl", tmp_path / "a.jinx", drop=["b"], rename={"c": "d"})
    assert jinx.open(tmp_path / "a.jinx")[0] == {"a": 1, "d": 3}
    with pytest.raises(jinx.JinxError, match="no row has a column 'bb'; did you mean 'b'"):
        jinx.convert(tmp_path / "a.jsonl", tmp_path / "b.jinx", drop=["bb"])


def test_addresses(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for number in (10, 9):
        memory.pipe(f"/bucket/part-{number}.jsonl", json.dumps({"n": number}).encode() + b"\n")
    memory.pipe("/bucket/bad.jsonl", b"{\n")
    jinx.convert("memory://bucket/part-*.jsonl", tmp_path / "a.jinx")
    assert jinx.open(tmp_path / "a.jinx")["n"].tolist() == [9, 10]
    assert [row["n"] for row in jinx.stream("memory://bucket/part-9.jsonl")] == [9]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jinx"]
    with pytest.raises(FileNotFoundError, match="memory://bucket/none"):
        jinx.convert("memory://bucket/none.jsonl", tmp_path / "b.jinx")
    with pytest.raises(jinx.JinxError, match=r"^memory://.*bad\.jsonl: line 1"):
        jinx.convert("memory://bucket/bad.jsonl", tmp_path / "b.jinx")
    with pytest.raises(jinx.UnsupportedError, match=r"run: jinx convert s3://b/a\.parquet out\.jinx"):
        jinx.open("s3://b/a.parquet")


def test_pointers_of_git_lfs(tmp_path):
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"
    (tmp_path / "a.parquet").write_text(text, "utf-8")
    for use in (jinx.convert, lambda source, _: jinx.open(source)):
        with pytest.raises(jinx.UnsupportedError, match=r"Git LFS pointer.*git lfs pull"):
            use(tmp_path / "a.parquet", tmp_path / "out.jinx")


def test_a_directory_of_jinx_and_other_files_is_refused(tmp_path, capsys):
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    jinx.convert([{"a": 1}], mixed / "in.jinx")
    (mixed / "a.jsonl").write_text('{"a": 2}\n')
    (mixed / "notes.txt").write_text("")
    for command in ("convert", "concat", "compact"):
        assert run([command, str(mixed), str(tmp_path / "out.jinx")]) == 2
        said = capsys.readouterr().err
        assert "different formats (jinx: in.jinx, jsonl: a.jsonl); say which are meant" in said
        assert said.endswith("--input-format jinx\n")
        for kind, value in (("jinx", 1), ("jsonl", 2)):
            out = tmp_path / f"{command}-{kind}.jinx"
            assert run([command, str(mixed), str(out), "--input-format", kind]) == 0
            assert list(jinx.open(out)["a"]) == [value]
    for read in (jinx.open, lambda path: list(jinx.stream(path))):
        with pytest.raises(ValueError, match=r"different formats \(jinx: in.jinx, jsonl: a.jsonl\).*/\*\.jinx"):
            read(mixed)
    assert run(["head", str(mixed)]) == 2
    (mixed / "a.jsonl").unlink()
    assert jinx.convert(mixed, tmp_path / "out.jinx").samples == 1
    assert len(jinx.open(mixed)) == 1


@pytest.mark.parametrize("place", ["data", "data/*.jinx"])
def test_a_view_next_to_what_it_shows_is_refused_by_name(tmp_path, capsys, place):
    data = tmp_path / "data"
    data.mkdir()
    for name in "ab":
        jinx.convert([{"n": n} for n in range(5)], data / f"{name}.jinx")
    jinx.open(data / "a.jinx").filter("n > 2").save(data / "good.jinx")
    named = r"data\S*: good.jinx is a saved view, which shows samples of other files, and a.jinx is not; name the files"
    for read in (jinx.open, lambda path: list(jinx.stream(path)), lambda path: jinx.convert(path, tmp_path / "x.jinx")):
        with pytest.raises(jinx.UnsupportedError, match=named):
            read(tmp_path / place)
    for command in ("convert", "concat", "shuffle"):
        assert run([command, str(tmp_path / place), str(tmp_path / "out.jinx")]) == 1
        assert "good.jinx is a saved view" in capsys.readouterr().err
    assert not (tmp_path / "out.jinx").exists()
    assert jinx.convert([data / "a.jinx", data / "good.jinx"], tmp_path / "both.jinx").samples == 7
    assert jinx.convert(data / "g*.jinx", tmp_path / "good.jinx").samples == 2
    assert jinx.convert(data / "[ab].jinx", tmp_path / "ab.jinx").samples == len(jinx.open(data / "[ab].jinx")) == 10


def test_what_may_lie_in_a_directory_of_jinx_files(tmp_path):
    data = tmp_path / "data"
    (data / ".hidden").mkdir(parents=True)
    (data / "out.work" / "runs" / "id" / "parts").mkdir(parents=True)
    (data / "old.work" / "parts").mkdir(parents=True)
    jinx.convert([{"a": 1, "b": bytes(100)}], data / "in.jinx")
    for name in ("README.md", "_SUCCESS", ".x.jsonl", ".hidden/x.jsonl", "dataset_info.json", "picture.png"):
        (data / name).write_text("{}\n")
    for name in ("lock", "CURRENT", "runs/id/log.jsonl", "runs/id/parts/x.jsonl"):
        (data / "out.work" / name).write_text("{}\n")
    for name in ("lock", "journal.jsonl", "parts/x.jsonl"):
        (data / "old.work" / name).write_text("{}\n")
    assert len(jinx.open(data)) == len(list(jinx.stream(data))) == 1


def test_a_directory_below_is_not_left_out_of_a_directory_of_jinx_files(tmp_path):
    (tmp_path / "data" / "sub").mkdir(parents=True)
    jinx.convert([{"a": 1}], tmp_path / "data" / "sub" / "in.jinx")
    with pytest.raises(jinx.MismatchError, match="holds the splits sub"):
        jinx.open(tmp_path / "data")
    jinx.convert([{"a": 1}], tmp_path / "data" / "in.jinx")
    for read in (jinx.open, jinx.stream):
        with pytest.raises(ValueError, match=r"in subdirectories \(sub/in.jinx\)"):
            list(read(tmp_path / "data"))
    (tmp_path / "data" / "in.jinx").unlink()
    (tmp_path / "data" / "rows.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(ValueError, match=r"jinx: sub/in.jinx, jsonl: rows.jsonl"):
        jinx.convert(tmp_path / "data", tmp_path / "out.jinx")


def test_a_manifest_says_what_a_directory_holds(tmp_path):
    jinx.convert([{"a": 1}], tmp_path / "data")
    (tmp_path / "data" / "more.jsonl").write_text('{"a": 2}\n')
    assert len(jinx.open(tmp_path / "data")) == len(list(jinx.stream(tmp_path / "data"))) == 1
    (tmp_path / "rows.jsonl").write_text('{"a": 2}\n')
    with pytest.raises(ValueError, match=r"different formats \(jinx: data/shard-\d+.jinx, jsonl: data/more.jsonl"):
        jinx.convert(tmp_path, tmp_path.with_suffix(".jinx"))


def test_an_empty_name_is_no_input(tmp_path, capsys):
    for command in (["convert", ""], ["sort", "", "--by", "a"], ["concat", ""], ["head", ""]):
        out = [] if command[0] == "head" else [str(tmp_path / "out.jinx")]
        assert run([*command[:2], *out, *command[2:]]) == 2
        assert "the input has an empty name" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.jsonl", "deeper/a.jinx", "b.parquet"])
def test_a_pipe_in_a_directory_is_refused_by_name(tmp_path, name):
    """Whoever opens one for reading waits until somebody writes."""
    directory = tmp_path / "in"
    (directory / "deeper").mkdir(parents=True)
    (directory / "a.jinx").touch()
    os.mkfifo(directory / name)
    for read in (lambda: jinx.convert(directory, tmp_path / "out.jinx"), lambda: jinx.open(directory)):
        with pytest.raises(ValueError, match=f"{name}: this is a pipe or a device"):
            read()
    assert not (tmp_path / "out.jinx").exists()
