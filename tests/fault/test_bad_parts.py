"""The smallest bad input for each error that the vectors and `rust/jinx-format/tests/bad_files.rs` leave out."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lz4.frame
import numpy as np
import pytest
import xxhash
import zstandard
from write_1_0 import Writer, npy

import jinx

Footer = dict[str, Any]


def signed(footer: Footer) -> bytes:
    """The text of a footer or manifest with a checksum that fits."""
    body = json.dumps({name: value for name, value in footer.items() if name != "digest"}).encode()[:-1]
    return body + b',"digest":"%016x"}' % xxhash.xxh3_64_intdigest(body)


def array(values: bytes) -> dict[str, Any]:
    """Bytes as an array inside a footer."""
    packed = zstandard.ZstdCompressor().compress(values)
    return {
        "data": base64.b64encode(packed).decode(),
        "length": len(values),
        "x": f"{xxhash.xxh3_64_intdigest(values):016x}",
    }


def offsets(*values: int) -> dict[str, Any]:
    return array(np.array(values, "<u8").tobytes())


def column(footer: Footer, name: str) -> Footer:
    return next(one for one in footer["columns"] if one["path"] == [name])


def change_column(name: str, **members: Any) -> Callable[[Footer], None]:
    def change(footer: Footer) -> None:
        info = column(footer, name)
        info.update(members)
        for member in [member for member, value in info.items() if value is None]:
            del info[member]

    return change


COLUMNS: dict[str, tuple[str, Callable[[Footer], None], str]] = {
    "other_rows": ("flag", change_column("flag", rows=3), "3 rows, the file has 2"),
    "length": ("flag", change_column("flag", data=array(b"\0")), "has 1 bytes, 2 are needed"),
    "announced_length": (
        "flag",
        change_column("flag", data=array(b"\1") | {"length": 2}),
        "1 bytes instead of 2",
    ),
    "checksum": ("flag", change_column("flag", data=array(b"\1\1") | {"x": "0" * 16}), "checksum"),
    "bool": ("flag", change_column("flag", data=array(b"\1\2")), "a bool that is neither 0 nor 1"),
    "offsets_of_numbers": (
        "flag",
        change_column("flag", offsets=offsets(0, 1, 2)),
        "offsets in a column without",
    ),
    "no_offsets": ("id", change_column("id", offsets=None), "strings without offsets"),
    "validity_behind": (
        "score",
        change_column("score", validity=array(b"\xff")),
        "validity has bits after the last row",
    ),
    "offsets_descend": ("id", change_column("id", offsets=offsets(0, 4, 3)), "does not ascend from 0"),
    "offsets_start": ("id", change_column("id", offsets=offsets(1, 3, 4)), "does not ascend from 0"),
    "offset_in_character": ("id", change_column("id", offsets=offsets(0, 2, 4)), "is not between two characters"),
    "offsets_end": ("id", change_column("id", offsets=offsets(0, 1, 3)), "the strings end at 3 of 4 bytes"),
    "not_utf8": ("id", change_column("id", data=array(b"a\xff\xffb")), "not UTF-8"),
}


@pytest.fixture
def pair(tmp_path) -> Path:
    """One file with columns of strings, bools, and floats that one row lacks; all arrays are in its footer."""
    path = tmp_path / "a.jinx"
    with jinx.Writer(path, sidecar=False, indexed=["id", "flag", "score"]) as writer:
        writer.write_many([{"id": "a\u00e9", "flag": True, "score": 1.5}, {"id": "b", "flag": False}])
    return path


def rewrite(path: Path, change: Callable[[Footer], None]) -> None:
    """Changes the footer and signs it."""
    *lines, footer, _ = path.read_bytes().splitlines(keepends=True)
    members = json.loads(footer)
    change(members)
    start = sum(map(len, lines))
    path.write_bytes(b"".join(lines) + signed(members) + b"\n%d\n" % start)


@pytest.mark.parametrize("name", COLUMNS)
def test_columns(name, pair):
    field, change, message = COLUMNS[name]
    rewrite(pair, change)
    with pytest.raises(jinx.CorruptFileError, match=message):
        jinx.open(pair)[field]
    assert any(message in problem.what for problem in jinx.verify(pair))


FOOTERS: dict[str, tuple[Footer, type[jinx.JinxError], str]] = {
    "encoding": ({"encoding": 85}, jinx.CorruptFileError, "'encoding' is not a string"),
    "version": ({"version": "2.0"}, jinx.UnsupportedError, "2.0"),
}


@pytest.mark.parametrize("name", FOOTERS)
def test_footers(name, pair):
    members, kind, message = FOOTERS[name]
    rewrite(pair, lambda footer: footer.update(members))
    with pytest.raises(kind, match=message):
        jinx.open(pair).schema  # noqa: B018 - looking at it reads it


def test_an_index_that_is_no_pointer(tmp_path):
    path = tmp_path / "a.jinx"
    for pointer in ({"offset": 0}, {"data": "", "length": 0, "x": "0" * 16}, [0, 16]):
        path.write_bytes(b'{"a":1}\n' + json.dumps({"index.npy.bin": pointer, "num_samples": 1}).encode() + b"\n8\n")
        with pytest.raises(jinx.CorruptFileError, match="the index in the footer is not a pointer"):
            jinx.open(path)


def test_a_manifest_that_lists_a_shard_twice(tmp_path):
    with jinx.Writer(tmp_path / "data", shard_size=1) as writer:
        writer.write_many([{"a": 1}, {"a": 2}])
    manifest = tmp_path / "data" / "jinx.json"
    members = json.loads(manifest.read_bytes())
    members["shards"][1] = members["shards"][0]
    manifest.write_bytes(signed(members) + b"\n")
    with pytest.raises(jinx.CorruptFileError, match=r"lists 'shard-00000\.jinx' twice"):
        jinx.open(tmp_path / "data")


def header(text: str) -> bytes:
    return b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text.encode()


GOOD = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }"
ARRAYS = {
    "other_member": GOOD.replace("'shape'", "'shapes'"),
    "name_without_quotes": GOOD.replace("'shape'", "shape"),
    "text_without_end": "{'descr': '|u1",
    "escape_in_text": GOOD.replace("|u1", "|u\\x31"),
    "no_bool": GOOD.replace("False", "0"),
    "twice": GOOD.replace("'shape'", "'descr': '|u1', 'shape'"),
    "shape_is_a_number": GOOD.replace("(1,)", "1"),
    "text_behind": GOOD + "x",
}


def one_value(path: Path, key: str, data: bytes) -> Path:
    writer = Writer(path, binary_threshold=1)
    place = writer.store(data)
    writer.line(json.dumps({f"{key}.bin": place}).encode())
    writer.close()
    return path


@pytest.mark.parametrize("name", ARRAYS)
def test_headers_of_arrays(name, tmp_path):
    path = one_value(tmp_path / "a.jinx", "a.npy", header(ARRAYS[name]) + b"\0")
    with pytest.raises(jinx.CorruptFileError, match="array"):
        jinx.open(path)[0]["a"]
    assert jinx.open(one_value(tmp_path / "b.jinx", "a.npy", npy(np.zeros(1, "u1"))))[0]["a"].shape == (1,)


def lz4_with_a_dictionary() -> bytes:
    flags = bytes([0b01100001, 0x40]) + b"\1\2\3\4"
    return b"\x04\x22\x4d\x18" + flags + bytes([xxhash.xxh32_intdigest(flags) >> 8 & 255]) + bytes(4)


def zstd_of_another_length() -> bytes:
    """Its header says 5 bytes, its only block holds 4."""
    return bytes.fromhex("28b52ffd2005210000") + b"abcd"


STREAMS: dict[str, tuple[str, bytes, type[jinx.JinxError]]] = {
    "lz4_dictionary": ("lz4", lz4_with_a_dictionary(), jinx.UnsupportedError),
    "lz4_block": ("lz4", lz4.frame.compress(b"x" * 100)[:-9] + b"\xff" * 9, jinx.CorruptFileError),
    "zstd_length": ("zst", zstd_of_another_length(), jinx.CorruptFileError),
    "zstd_block": ("zst", bytes.fromhex("28b52ffd2005ffffff"), jinx.CorruptFileError),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams(name, tmp_path):
    codec, data, kind = STREAMS[name]
    path = one_value(tmp_path / "a.jinx", f"a.raw.{codec}", data)
    with pytest.raises(kind):
        jinx.open(path)[0]["a"]


LINES: dict[str, tuple[bytes, type[jinx.JinxError], str]] = {
    "no_value": (b'{"a":}', jinx.CorruptFileError, "a value expected"),
    "ends_before_the_value": (b'{"a":', jinx.CorruptFileError, "a value expected"),
    "brackets": (b'{"a":[1,[2]', jinx.CorruptFileError, "brackets without an end"),
    "no_number": (b'{"a":1.5.5}', jinx.CorruptFileError, "not valid JSON|no number"),
    "digits": (b'{"a":' + b"9" * 4301 + b"}", jinx.LimitError, "more than 4300 digits"),
    "depth": (b'{"a":' + b"[" * 256 + b"]" * 256 + b"}", jinx.LimitError, "deeper than 256"),
    "number_for_bytes": (b'{"a.raw":1}', jinx.CorruptFileError, "a.raw|number"),
    "control_character_in_a_name": (b'{"a\1":1}', jinx.CorruptFileError, "not valid text"),
}


def one_line(path: Path, line: bytes) -> Path:
    """A file of 1.1 with this line; all its checksums are right."""
    with jinx.Writer(path, sidecar=False) as writer:
        writer.write({})

    def with_line(footer: Footer) -> None:
        index = np.array([0, len(line) + 1], "<u8").tobytes()
        footer["index.npy.zst"] = base64.b64encode(zstandard.ZstdCompressor().compress(index)).decode()
        footer["line_hash"] = array(xxhash.xxh3_64_intdigest(line + b"\n").to_bytes(8, "little"))

    rewrite(path, with_line)
    path.write_bytes(path.read_bytes().replace(b"{}\n", line + b"\n", 1).replace(b"\n3\n", b"\n%d\n" % (len(line) + 1)))
    return path


@pytest.mark.parametrize("name", LINES)
def test_lines(name, tmp_path):
    line, kind, message = LINES[name]
    path = one_line(tmp_path / "a.jinx", line)
    with pytest.raises(kind, match=message):
        dict(jinx.open(path)[0])


# Reading takes the footer's word that there is nothing of the kind below a field; `verify` looks.
FOR_VERIFY = {
    "twice_in_a_dict": (b'{"a":{"b":1,"b":2}}', "the name appears twice"),
    "wrapped_without_need": (b'{"a":[{"..":1}]}', "ends like a quoted name but is not one"),
    "chain_that_no_field_has": (b'{"a":[{"..raw.":"AA=="}]}', "the footer's 'fields' lacks the path"),
}


@pytest.mark.parametrize("name", FOR_VERIFY)
def test_lines_that_verify_refuses(name, tmp_path):
    line, message = FOR_VERIFY[name]
    problems = jinx.verify(one_line(tmp_path / "a.jinx", line))
    assert any(message in problem.what for problem in problems), problems


FOREIGN_LINES = {
    "no_object": (b'{"a":1}\n7\n', "a line that is not a JSON object"),
    "list": (b'{"a":1}\n[1]\n', "a JSON array instead of an object"),
    "not_whole": (b'{"a":1}\n{"a":\n', "each line must hold one whole object"),
    "nan": (b'{"a":NaN}\n', "JSON has no NaN"),
}


@pytest.mark.parametrize("name", FOREIGN_LINES)
def test_lines_of_other_programs(name, tmp_path):
    text, message = FOREIGN_LINES[name]
    path = tmp_path / "a.jsonl"
    path.write_bytes(text)
    with pytest.raises(jinx.CorruptFileError, match=message):
        jinx.convert(path, tmp_path / "a.jinx")


def test_a_value_over_the_limit(tmp_path):
    """A byte more than 2 GiB; the file is a hole."""
    path, size = tmp_path / "a.jinx", (2 << 30) + 1
    writer = Writer(path, binary_threshold=1)
    writer.store(bytes(8))
    writer.line(json.dumps({"a.raw.bin": {"offset": 0, "length": size}}).encode())
    writer.close()
    with path.with_suffix(".binx").open("r+b") as file:
        file.truncate(size)
    with pytest.raises(jinx.LimitError, match=str(size)):
        jinx.open(path)[0]["a"]
