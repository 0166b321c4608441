"""What JINX writes into other formats comes back, and what others wrote is never taken for ours."""

import gzip
import io
import json
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jinx
from jinx._cli.program import run
from property.test_round_trip import same

FORMATS = ["jsonl", "jsonl.gz", "jsonl.zst", "msgpack", "msgpack.zst", "tar", "tar.gz"]
ARRAY = np.arange(6, dtype="<u2").reshape(2, 3)
LOOKS_MARKED = [
    {"$bytes": "AP8="},
    {"$float": "nan"},
    {"$dict": {"a": 1}},
    {"$pt": "aGVsbG8="},
    {"$npy": "x", "b": 2},
    {"$jinx": 1, "a": {"$bytes": "AP8="}},
    {"$file": "jpg"},
]
SAMPLES: list[dict[str, Any]] = [
    {"id": 1, "none": None, "nested": LOOKS_MARKED, "floats": [float("nan"), float("inf"), -float("inf"), -0.0]},
    {"$bytes": "AP8=", "other": b"\0"},
    {"$bytes": "AP8="},
    {"$dict": {"$bytes": b"x"}},
    {"$jinx": 1, "a": {"$bytes": "AP8="}},
    {},
    {"__key__": "a/b.c", "jpg": b"\xff\xd8\xff"},
    {"__key__": "dir/k", "pyd": b"p", "mp": b"m", "pth": b"t", "npz": b"PK", "ten": b"", "what.ever": b"u"},
    {"__key__": "dir/k", "jpg": "no bytes", "cls": True, "txt": 5, "npy": b"no array", "json": [b"x"]},
    {"__key__": 7, "Image": b"\x89PNG\r\n\x1a\n", "image": b"other", "a/../b": b"..", "json": b"{}", "arr": ARRAY},
    {"__key__": "../up", "cls": 1 << 70, "x": {"bytes": b"\xff\xd8\xff", "path": "a.jpg"}},
    {"npy": ARRAY, "half": np.float16(0.5), "deep": {"arrays": [ARRAY, {"b": b"\0" * 100}]}},
]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [sample.to_dict() for sample in jinx.open(path, verify="full")]


@pytest.mark.parametrize("suffix", FORMATS)
def test_everything_comes_back(tmp_path, suffix):
    jinx.convert(SAMPLES, tmp_path / "a.jinx")
    out = tmp_path / f"out.{suffix}"
    jinx.convert(tmp_path / "a.jinx", out)
    jinx.convert(out, tmp_path / "back.jinx")
    for got, expected in zip(rows_of(tmp_path / "back.jinx"), SAMPLES, strict=True):
        assert same(got, expected), (got, expected)
    assert same(list(jinx.stream(out)), SAMPLES)
    if suffix == "jsonl":
        ds = jinx.open(out)
        assert same([sample.to_dict() for sample in ds], SAMPLES)
        assert jinx.verify(out) == []
        assert (ds[1]["other"], list(ds[4]), ds[3]["$dict"]) == (b"\0", ["$jinx", "a"], {"$bytes": b"x"})
        assert ds[0].length("floats") == 4
        assert ds.column("other")[0] is None
        assert "JSON with markers" in repr(jinx.open(out)[0])
        assert same(pickle.loads(pickle.dumps(ds))[0].to_dict(), SAMPLES[0])


def test_tensors_in_tars_need_no_torch_to_move(tmp_path):
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6, dtype=torch.int16).reshape(2, 3)
    jinx.convert([{"t": tensor, "l": [tensor]}], tmp_path / "a.jinx")
    for suffix in ("tar", "jsonl", "msgpack"):
        jinx.convert(tmp_path / "a.jinx", tmp_path / f"a.{suffix}")
        jinx.convert(tmp_path / f"a.{suffix}", tmp_path / f"{suffix}.jinx")
        back = jinx.open(tmp_path / f"{suffix}.jinx")[0]
        assert torch.equal(back["t"], tensor)
        assert torch.equal(back["l"][0], tensor)
        assert back["t"].dtype is torch.int16
    with tarfile.open(tmp_path / "a.tar") as tar:
        assert tar.getnames() == ["000000000.t.pth", "000000000.json"]


def tar_of(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def test_foreign_tars_go_back_as_they_came(tmp_path):
    files = {
        "a/0.jpg": b"\xff\xd8\xff",
        "a/0.json": b'{"n":[1,{"$bytes":"AP8="},{"$float":"nan"}]}',
        "a/0.cls": b"7",
        "a/0.txt": b"text",
        "a/0.pyd": b"\x80",
        "a/0.pth": b"t",
        "a/0.npz": b"PK",
        "a/0.mp": b"m",
        "a/0.seg.ten": b"s",
        "b.json": b'[{"$pt":"aGVsbG8="},null]',
    }
    tar_of(tmp_path / "a.tar", files)
    jinx.convert(tmp_path / "a.tar", tmp_path / "a.jinx")
    first = jinx.open(tmp_path / "a.jinx")[0]
    assert first["json"] == {"n": [1, {"$bytes": "AP8="}, {"$float": "nan"}]}
    assert (first["pyd"], first["seg.ten"], first["cls"]) == (b"\x80", b"s", 7)
    jinx.convert(tmp_path / "a.jinx", tmp_path / "b.tar")
    jinx.convert(tmp_path / "b.tar", tmp_path / "b.jinx")
    assert rows_of(tmp_path / "b.jinx") == rows_of(tmp_path / "a.jinx")
    no_markers = {"k.json": b'{"a":1}', "k.txt": b"x", "k.npz": b"PK", "l.json": b"[null]", "l.seg.png": b"p"}
    tar_of(tmp_path / "c.tar", no_markers)
    jinx.convert(tmp_path / "c.tar", tmp_path / "c.jinx")
    jinx.convert(tmp_path / "c.jinx", tmp_path / "d.tar")
    with tarfile.open(tmp_path / "d.tar") as tar:
        found = {member.name: tar.extractfile(member).read() for member in tar}  # pyright: ignore[reportOptionalMemberAccess]
    assert found == no_markers


def test_a_tar_that_cannot_hold_the_samples_says_why(tmp_path):
    rows = [{"__key__": "k", "txt": "a"}, {"__key__": "k", "txt": "b"}]
    with pytest.raises(jinx.JinxError, match=r"sample 1: two samples in a row have the __key__ 'k'"):
        jinx.convert(rows, tmp_path / "a.tar")
    assert not (tmp_path / "a.tar").exists()


def test_a_file_that_was_added_to_a_sample_is_a_field(tmp_path):
    jinx.convert([{"id": 1, "image": b"\xff\xd8\xff"}], tmp_path / "a.tar")
    with tarfile.open(tmp_path / "a.tar", "a") as tar:
        member = tarfile.TarInfo("000000000.caption.txt")
        member.size = 3
        tar.addfile(member, io.BytesIO(b"cat"))
    assert list(jinx.stream(tmp_path / "a.tar")) == [{"id": 1, "image": b"\xff\xd8\xff", "caption.txt": "cat"}]


FOREIGN: list[dict[str, Any]] = [
    {"id": 1, "a": LOOKS_MARKED},
    {"a": {"$bytes": "AP8="}, "$jinx": 1},
    {"$jinx": 2, "a": {"$bytes": "AP8="}},
    {"$jinx": "1", "a": {"$bytes": "AP8="}},
    {"$dict": {"$bytes": "AP8="}},
    {"$bytes": "AP8="},
]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.jsonl.gz", "directory"])
def test_what_does_not_say_that_it_is_ours_is_data(tmp_path, name):
    lines = "".join(f"{json.dumps(row)}\n" for row in FOREIGN).encode()
    path = tmp_path / name
    if name == "directory":
        path.mkdir()
        (path / "1.jsonl").write_bytes(lines)
    elif name == "a.json":
        path.write_text(json.dumps(FOREIGN), "utf-8")
    else:
        path.write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)
    jinx.convert(path, tmp_path / "a.jinx")
    assert rows_of(tmp_path / "a.jinx") == FOREIGN
    assert list(jinx.stream(path)) == FOREIGN
    if name == "a.jsonl":
        assert [sample.to_dict() for sample in jinx.open(path)] == FOREIGN
        for fields in ("a", "$jinx"):
            assert jinx.open(path)[1][fields] == FOREIGN[1][fields]


def test_rows_that_say_so_hold_markers_wherever_they_stand(tmp_path):
    ours = {
        "$jinx": 1,
        "a": {"$bytes": "AP8="},
        "b": {"$dict": {"$float": "nan"}},
        "c": {"d": {"$float": "inf"}, "n": 3},
    }
    expected = {"a": b"\0\xff", "b": {"$float": "nan"}, "c": {"d": float("inf"), "n": 3}}
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(FOREIGN[0])}\n{json.dumps(ours)}\n", "utf-8")
    (tmp_path / "a.json").write_text(json.dumps([FOREIGN[0], ours]), "utf-8")
    for name in ("a.jsonl", "a.json"):
        assert list(jinx.stream(tmp_path / name)) == [FOREIGN[0], expected]
    ds = jinx.open(tmp_path / "a.jsonl")
    assert ds[1] == expected
    assert ds.column("c.n")[1] == 3
    assert ds.column("c.d")[1] == float("inf")
    assert ds.take([1, 0])[0]["a"] == b"\0\xff"
    assert list(ds.select_columns(["a"])[1]) == ["a"]
    (tmp_path / "bad.jsonl").write_text('{"$jinx": 1, "t": {"$pt": "aGVsbG8="}}\n', "utf-8")
    with pytest.raises(jinx.CorruptFileError, match=r"line 1, column 't': a tensor that does not begin"):
        jinx.convert(tmp_path / "bad.jsonl", tmp_path / "bad.jinx")
    with pytest.raises(jinx.CorruptFileError, match=r"sample 0.*a tensor that does not begin"):
        _ = jinx.open(tmp_path / "bad.jsonl")[0]["t"]
    assert len(jinx.verify(tmp_path / "bad.jsonl")) == 1


def test_old_exports_are_read_with_an_option(tmp_path):
    old = {"a": {"$bytes": "AP8="}, "b": {"$dict": {"$float": "nan"}}, "c": [{"$float": "-inf"}]}
    expected = {"a": b"\0\xff", "b": {"$float": "nan"}, "c": [-float("inf")]}
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(old)}\n", "utf-8")
    tar_of(tmp_path / "a.tar", {"0.json": json.dumps(old).encode()})
    payload = io.BytesIO()
    np.save(payload, ARRAY)
    data = payload.getvalue()
    (tmp_path / "a.msgpack").write_bytes(b"\x81\xa1a\xc7" + bytes([len(data)]) + b"\x01" + data)
    assert list(jinx.stream(tmp_path / "a.jsonl")) == [old]
    assert list(jinx.stream(tmp_path / "a.jsonl", markers=True)) == [expected]
    assert jinx.open(tmp_path / "a.jsonl", markers=True)[0] == expected
    assert pickle.loads(pickle.dumps(jinx.open(tmp_path / "a.jsonl", markers=True)))[0] == expected
    assert list(jinx.stream(tmp_path / "a.tar", markers=True)) == [{"__key__": "0", "json": expected}]
    with pytest.raises(jinx.UnsupportedError, match="--markers"):
        list(jinx.stream(tmp_path / "a.msgpack"))
    assert same(next(jinx.stream(tmp_path / "a.msgpack", markers=True))["a"], ARRAY)
    assert run(["convert", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jinx"), "--markers"]) == 0
    assert jinx.open(tmp_path / "b.jinx")[0] == expected


def test_what_cat_prints_is_read_back(tmp_path, capfdbinary):
    jinx.convert(SAMPLES, tmp_path / "a.jinx")
    jinx.convert(tmp_path / "a.jinx", tmp_path / "a.msgpack")
    for name in ("a.jinx", "a.msgpack"):
        assert run(["cat", str(tmp_path / name)]) == 0
        (tmp_path / "printed.jsonl").write_bytes(capfdbinary.readouterr().out)
        assert same(list(jinx.stream(tmp_path / "printed.jsonl")), SAMPLES)


def test_media_of_hugging_face_come_back_as_bytes(chat_parquet, tmp_path):
    jinx.convert(chat_parquet, tmp_path / "a.jinx", limit=5)
    for suffix in ("jsonl", "msgpack", "tar"):
        jinx.convert(tmp_path / "a.jinx", tmp_path / f"a.{suffix}")
        jinx.convert(tmp_path / f"a.{suffix}", tmp_path / f"{suffix}.jinx")
        assert rows_of(tmp_path / f"{suffix}.jinx") == rows_of(tmp_path / "a.jinx")
