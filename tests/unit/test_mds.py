"""MDS directories as datasets: views, columns, lazy samples, pickling, bad shards, conversion, checks."""

import json
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jinx
from jinx._cli.program import run
from jinx.errors import CorruptFileError, InvalidError, MismatchError, TruncatedFileError, UnsupportedError
from jinx.mds import BulkReader, MDSWriter, RamReader, merge_index
from mds_samples import COLUMNS, COUNT, sample


def write(directory: Path, count: int = COUNT, **options: Any) -> Path:
    with MDSWriter(columns=COLUMNS, out=directory, **{"size_limit": "64kb", **options}) as writer:
        for k in range(count):
            writer.write(sample(k))
    return directory


def is_same(ours: Any, k: int) -> bool:
    wanted = sample(k)
    return list(ours) == sorted(wanted) and all(np.array_equal(ours[name], wanted[name]) for name in wanted)


@pytest.fixture(params=[None, "zstd", "gz", "snappy", "sample::zstd", "sample::br:3"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write(tmp_path / "shards", compression=request.param, hashes=["sha256", "xxh64"])


def test_readers_take_columns(directory: Path) -> None:
    assert list(RamReader(directory, columns=["value", "id"])[3]) == ["id", "value"]
    assert BulkReader(directory, columns="id")[3].to_dict() == {"id": 3}


def test_every_way_to_read(directory: Path, tmp_path: Path) -> None:
    for dataset in (
        jinx.open(directory, verify="full"),
        BulkReader(directory),
        RamReader(directory, cache=tmp_path / "cache"),
    ):
        assert isinstance(dataset, jinx.Dataset)
        assert len(dataset) == COUNT
        assert all(is_same(dataset[k], k) for k in (0, 7, 59, 31))
        assert is_same(dataset[-1], COUNT - 1)
        assert all(is_same(one, k) for k, one in enumerate(dataset))
        assert [one["id"] for one in dataset.take([5, 50, 5], columns=["id"])] == [5, 50, 5]
        assert dataset["id"].tolist() == list(range(COUNT))
        assert dataset.shuffle(1)[10:20]["text"] == [f"text {k}" for k in dataset.shuffle(1)[10:20]["id"].tolist()]
        assert list(dataset.select_columns(["value", "id"])[3]) == ["id", "value"]
        assert dataset.sort("-id")[0]["id"] == COUNT - 1
        assert dataset.lengths("data").tolist() == [k % 9 * 4000 for k in range(COUNT)]
    assert not list(directory.glob("*.tmp"))


def test_views_pickle_and_processes(directory: Path) -> None:
    view = jinx.open(directory).select([9, 3, 50]).select_columns(["id", "data"])
    again = pickle.loads(pickle.dumps(view))
    assert [dict(one) for one in again] == [dict(one) for one in view]
    assert pickle.loads(pickle.dumps(view[1])) == view[1]
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(_first_ids, [view, view]) == [[9, 3, 50]] * 2


def _first_ids(view: Any) -> list[int]:
    return [one["id"] for one in view]


def test_an_iterator_goes_on_in_a_forked_process(tmp_path: Path) -> None:
    walk = iter(jinx.open(write(tmp_path / "d", compression="zstd")))
    assert next(walk)["id"] == 0
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=lambda: queue.put([one["id"] for one in walk]))
    process.start()
    assert queue.get(timeout=30) == list(range(1, COUNT))
    process.join()
    assert [one["id"] for one in walk] == list(range(1, COUNT))


def test_samples_are_lazy_mappings(tmp_path: Path) -> None:
    one = jinx.open(write(tmp_path / "d"))[8]
    assert "bytes, 32000 bytes" in repr(one)
    assert one.length("data") == 32000
    assert one.length("grid") == 3
    assert "id" in one
    assert one.get("nothing") is None
    one["new"] = 1
    del one["data"]
    assert {**one}.keys() == {"id", "text", "value", "meta", "grid", "new"}
    assert one["grid"].flags.writeable


def test_merged_directories_and_splits(tmp_path: Path) -> None:
    write(tmp_path / "all" / "a", 10)
    write(tmp_path / "all" / "b" / "c", 10, compression="zstd")
    with pytest.raises(FileNotFoundError, match="split="):
        jinx.open(tmp_path / "all")
    assert merge_index([tmp_path / "all" / "a", tmp_path / "all" / "b" / "c"], tmp_path / "all") >= 2
    assert jinx.open(tmp_path / "all")["id"].tolist() == [*range(10), *range(10)]
    assert len(jinx.open(tmp_path / "all", split="a")) == 10
    both = jinx.concat([jinx.open(tmp_path / "all" / "a"), jinx.open(tmp_path / "all" / "a")])
    assert len(both) == 20


def damage(directory: Path, number: int, change: Any) -> None:
    path = directory / f"shard.{number:05}.mds"
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda data: data[:-1], TruncatedFileError),
        (lambda data: data + b"x", CorruptFileError),
        (lambda data: b"\0\0\0\0" + data[4:], CorruptFileError),
        (lambda data: data[:4] + b"\xff" * 8 + data[12:], CorruptFileError),
        (lambda data: b"", TruncatedFileError),
    ],
)
def test_one_bad_shard_is_named_and_the_others_stay(tmp_path: Path, change: Any, error: type[Exception]) -> None:
    directory = write(tmp_path / "d")
    damage(directory, 0, change)
    dataset = jinx.open(directory)
    with pytest.raises(error, match=r"shard\.00000\.mds"):
        dataset[0]["id"]
    assert is_same(dataset[COUNT - 1], COUNT - 1)
    problems = jinx.verify(directory)
    assert problems
    assert all("shard.00000.mds" in str(problem.file) for problem in problems)


def test_missing_shards_and_wrong_hashes(tmp_path: Path) -> None:
    directory = write(tmp_path / "d", hashes=["md5"])
    damage(directory, 1, lambda data: data[:-1] + bytes([data[-1] ^ 1]))
    (directory / "shard.00000.mds").unlink()
    dataset = RamReader(directory, hashes=True)
    with pytest.raises(FileNotFoundError):
        dataset[0]["id"]
    second = json.loads((directory / "index.json").read_text())["shards"][0]["samples"]
    with pytest.raises(CorruptFileError, match="md5"):
        dataset[second]["id"]
    assert is_same(dataset[COUNT - 1], COUNT - 1)


def edit(directory: Path, **changes: Any) -> None:
    index = json.loads((directory / "index.json").read_text())
    index["shards"][0].update(changes)
    (directory / "index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"raw_data": {"basename": "../x.mds", "bytes": 1, "hashes": {}}}, CorruptFileError, "plain file name"),
        ({"compression": "lz4"}, UnsupportedError, "lz4"),
        ({"format": "csv"}, UnsupportedError, "csv"),
        ({"column_sizes": [8]}, CorruptFileError, "sizes"),
    ],
)
def test_bad_entries_spoil_only_their_shard(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], text: str
) -> None:
    directory = write(tmp_path / "d")
    edit(directory, **changes)
    dataset = jinx.open(directory)
    with pytest.raises(error, match=text):
        dataset[0].to_dict() or dataset.take([0])[0]["id"]
    assert is_same(dataset[COUNT - 1], COUNT - 1)


def test_unknown_encodings_and_pickles_leave_the_other_columns(tmp_path: Path) -> None:
    with MDSWriter(columns={"a": "int", "p": "pkl"}, out=tmp_path / "d") as writer:
        writer.write({"a": 1, "p": {2, 3}})
    dataset = jinx.open(tmp_path / "d")
    assert dataset[0]["a"] == 1
    with pytest.raises(UnsupportedError, match="allow_unsafe_types"):
        dataset[0]["p"]
    assert jinx.open(tmp_path / "d", allow_unsafe_types=["p"])[0]["p"] == {2, 3}
    edit(tmp_path / "d", column_encodings=["int", "hologram"])
    with pytest.raises(UnsupportedError, match="hologram"):
        jinx.open(tmp_path / "d")[0]["p"]
    assert jinx.open(tmp_path / "d")[0]["a"] == 1


@pytest.mark.parametrize("compression", ["zstd", "gz", "bz2", "br:1"])
def test_a_bomb_is_stopped_at_the_size_in_the_index(tmp_path: Path, compression: str) -> None:
    with MDSWriter(columns={"a": "bytes"}, out=tmp_path / "d", compression=compression) as writer:
        writer.write({"a": bytes(50_000_000)})
    edit(tmp_path / "d", raw_data={"basename": "shard.00000.mds", "bytes": 1000, "hashes": {}})
    for dataset in (jinx.open(tmp_path / "d"), BulkReader(tmp_path / "d")):
        with pytest.raises(jinx.JinxError):
            dataset[0]["a"]
        with pytest.raises(jinx.JinxError):
            [one["a"] for one in dataset]


def write_two(directory: Path) -> None:
    with MDSWriter(columns={"a": "int"}, out=directory) as writer:
        writer.write({"a": 1})
        writer.write({"a": "x"})


def test_the_writer_publishes_all_or_nothing(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="sample 1, column 'a'"):
        write_two(tmp_path / "d")
    assert not (tmp_path / "d").exists()
    write(tmp_path / "d", 3)
    (tmp_path / "d" / "notes.txt").write_text("mine")
    with pytest.raises((InvalidError, FileExistsError)):
        write(tmp_path / "d", 3, exist_ok=True)
    (tmp_path / "d" / "notes.txt").unlink()
    with pytest.raises((InvalidError, FileExistsError)):
        write(tmp_path / "d", 3)
    assert len(jinx.open(write(tmp_path / "d", 5, exist_ok=True))) == 5


@pytest.mark.parametrize("middle", ["rows.jinx", "rows.msgpack", "rows.parquet", "rows.jsonl"])
def test_conversion_keeps_types(tmp_path: Path, middle: str) -> None:
    directory = write(tmp_path / "a", 20)
    jinx.convert(directory, tmp_path / middle)
    jinx.convert(tmp_path / middle, tmp_path / "b.mds", compression="sample::zstd")
    again = jinx.open(tmp_path / "b.mds")
    assert len(again) == 20
    for k, one in enumerate(again):
        wanted = sample(k)
        for name in ("id", "text", "data", "meta"):
            assert one[name] == wanted[name], (k, name)
        assert float(one["value"]) == float(wanted["value"])
        if middle.endswith((".jinx", ".msgpack")):
            assert np.array_equal(one["grid"], wanted["grid"])
            assert one["grid"].dtype == np.int16
            assert type(one["value"]) is (np.float32 if middle == "rows.jinx" else np.float64)


def test_images_convert_as_files_and_as_pixels(tmp_path: Path) -> None:
    from PIL import Image

    picture = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
    columns = {"png": "png", "pil": "pil"}
    with MDSWriter(columns=columns, out=tmp_path / "d") as writer:
        writer.write({"png": picture, "pil": picture})
    one = jinx.open(tmp_path / "d")[0]
    assert one["png"].tobytes() == one["pil"].tobytes() == picture.tobytes()
    assert jinx.open(tmp_path / "d", decode=False)[0]["png"].startswith(b"\x89PNG")
    jinx.convert(tmp_path / "d", tmp_path / "d.jinx")
    kept = jinx.open(tmp_path / "d.jinx")[0]
    assert kept["png"].startswith(b"\x89PNG")
    assert np.array_equal(kept["pil"], np.asarray(picture))


def test_touched_images_are_written_as_they_are_stored(tmp_path: Path) -> None:
    from PIL import Image, ImageDraw

    picture = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
    columns = {"file": "jpeg", "pixels": "pil", "several": "list[png]"}
    with MDSWriter(columns=columns, out=tmp_path / "d") as writer:
        writer.write({"file": picture, "pixels": picture, "several": [picture]})
    untouched, touched, drawn = (jinx.open(tmp_path / "d")[0] for _ in range(3))
    for one in (touched, drawn):
        one["file"].load()
        one["pixels"].load()
        one["several"][0].load()
    ImageDraw.Draw(drawn["file"]).rectangle((0, 0, 3, 3), fill=(9, 99, 199))
    for name, one in (("untouched", untouched), ("touched", touched)):
        with jinx.Writer(tmp_path / f"{name}.jinx") as writer:
            writer.write(one)
    first, second = (jinx.open(tmp_path / f"{name}.jinx")[0] for name in ("untouched", "touched"))
    assert first["file"] == second["file"]
    assert first["several"] == second["several"]
    assert np.array_equal(first["pixels"], second["pixels"])
    with pytest.raises(InvalidError, match="'file'"), jinx.Writer(tmp_path / "drawn.jinx") as writer:
        writer.write(drawn)


DAMAGED = [
    ("str", b"\xff"),
    ("str_int", b"x"),
    ("str_float", b"1.2.3"),
    ("str_decimal", b"one"),
    ("json", b'{"a": '),
    ("ndarray", b""),
    ("ndarray", b"\x07\x04\x01"),
    ("ndarray", b"\x08"),
    ("ndarray", b"\x42\xff" + b"\xff" * 40),
    ("ndarray:int16", b"\x04\x03abc"),
    ("pil", b"\xff\xff\xff\x7f\xff\xff\xff\x7f\x03\0\0\0RGB"),
    ("pil", b"\x01\0\0\0\x01\0\0\0\xff\xff\xff\xffRGB"),
    ("jpeg", b"no image"),
    ("png", b"\x89PNG\r\n\x1a\n"),
    ("jpeg_array", b"\xff\xff\xff\xff"),
    ("list[png]", b"\0\0\0\0\xff\xff\xff\xff"),
    ("list[jpeg]", b"\0\0\0\0\x01\0\0\0\xff\0\0\0x"),
    ("list[pil]", b"\x01"),
]


@pytest.mark.parametrize(("encoding", "damaged"), DAMAGED)
def test_damaged_values_are_named_and_the_others_stay(tmp_path: Path, encoding: str, damaged: bytes) -> None:
    # Bytes are written as they are under any encoding.
    with MDSWriter(columns={"id": "int", "v": encoding}, out=tmp_path / "d") as writer:
        writer.write({"id": 7, "v": damaged})
        writer.write({"id": 8, "v": b"also damaged, elsewhere"})
    dataset = jinx.open(tmp_path / "d")
    for found in (dataset[:1], dataset.take([0], columns=["id"])):
        with pytest.raises(jinx.JinxError, match=r"shard\.00000\.mds: sample 0, column 'v'"):
            found[0]["v"].load()
    with pytest.raises(jinx.JinxError, match=r"shard\.00000\.mds: sample 0, column 'v'"):
        dataset.take([0])[0]["v"].load()
    assert dataset["id"].tolist() == [7, 8]


@pytest.mark.parametrize("compression", ["zstd", "gz", "snappy", "sample::zstd", "sample::gz", "sample::snappy"])
def test_a_damaged_compressed_shard_leaves_the_others(tmp_path: Path, compression: str) -> None:
    directory = write(tmp_path / "d", compression=compression, size_limit=1500 if "::" in compression else "64kb")
    path = next(directory.glob("shard.00000.mds*"))
    data = bytearray(path.read_bytes())
    data[-200:] = b"\xa5" * 200
    path.write_bytes(data)
    last = json.loads((directory / "index.json").read_text())["shards"][0]["samples"] - 1
    for dataset in (jinx.open(directory), BulkReader(directory)):
        with pytest.raises(jinx.JinxError, match=r"shard\.00000\.mds"):
            dataset[last].to_dict()
        assert is_same(dataset[COUNT - 1], COUNT - 1)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"shard\.00000\.mds"):
        jinx.open(directory)[0].to_dict()
    assert is_same(jinx.open(directory)[COUNT - 1], COUNT - 1)


def test_a_shard_of_four_gigabytes(tmp_path: Path) -> None:
    size = 2**32 - 1
    entry = {
        "column_names": ["b"],
        "column_encodings": ["bytes"],
        "column_sizes": [None],
        "compression": None,
        "format": "mds",
        "samples": 2,
        "version": 2,
        "zip_data": None,
        "raw_data": {"basename": "shard.00000.mds", "bytes": size, "hashes": {}},
    }
    (tmp_path / "index.json").write_text(json.dumps({"version": 2, "shards": [entry]}))
    with (tmp_path / "shard.00000.mds").open("wb") as file:
        file.write(b"".join(word.to_bytes(4, "little") for word in (2, 16, size - 9, size, size - 9 - 20)))
        file.seek(size - 9)
        file.write((5).to_bytes(4, "little") + b"hello")
    for io in ("auto", "pread"):
        dataset = RamReader(tmp_path, io=io)
        assert dataset[1]["b"] == dataset.take([1])[0]["b"] == b"hello"
        assert dataset.lengths("b").tolist() == [size - 9 - 20, 5]


def test_columns_without_an_encoding_are_named(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="'a'"):
        jinx.convert([{"a": b"x"}, {"a": None}], tmp_path / "x.mds")


def test_info_head_and_verify(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    directory = str(write(tmp_path / "d", hashes=["sha1"]))

    def out(*words: str, code: int = 0) -> str:
        assert run(list(words)) == code
        return capfdbinary.readouterr().out.decode()

    told = out("info", directory)
    assert "MDS 2" in told
    assert "ndarray" in told
    assert json.loads(out("head", "-1", directory, "--columns", "id,text")) == {"id": 0, "text": "text 0"}
    out("verify", directory)
    damage(Path(directory), 0, lambda data: data[:-1] + bytes([data[-1] ^ 1]))
    assert "sha1" in out("verify", directory, code=1)


def test_many_shards_open_quickly_and_few_stay_open(tmp_path: Path) -> None:
    import resource

    directory = write(tmp_path / "d", 300, size_limit=1)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(128, soft), hard))
    try:
        dataset = jinx.open(directory)
        assert [dataset[k]["id"] for k in range(300)] == list(range(300))
        assert [one["id"] for one in dataset.shuffle(0)[:100]] == dataset.shuffle(0)["id"].tolist()[:100]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_samples_that_were_touched_keep_their_shards(tmp_path: Path) -> None:
    """However many shards are opened after them, and although the files are gone."""
    import resource
    import shutil

    directory = write(tmp_path / "d", 300, size_limit=1)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(128, soft), hard))
    try:
        dataset = jinx.open(directory, io="mmap")
        kept = [dataset[k] for k in range(100)]
        assert [one["id"] for one in kept] == list(range(100))
        assert dataset["id"].tolist() == list(range(300))
        shutil.rmtree(directory)
        assert [one["text"] for one in kept] == [f"text {k}" for k in range(100)]
        with pytest.raises(FileNotFoundError):
            [dataset[k]["text"] for k in range(100, 300)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
