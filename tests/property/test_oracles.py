"""Damaged values against the decoders that others wrote: where both take the bytes, the values are equal.

Where one of the two refuses and the other does not, the difference stands here by name, and it is meant.
"""

import ast
import base64
import bz2
import io
import itertools
import json
import lzma
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import brotli
import cramjam
import lz4.frame
import numpy as np
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st
from write_1_0 import CODECS, Writer, npy

import jinx
from property.mutations import mutated, mutated_text

REFUSED = object()
TEXT = b"a text of some length, a text of some length, a text " * 3


@pytest.fixture(scope="module")
def place() -> Iterator[Callable[[str], Path]]:
    """New paths in a directory in memory; each is free again with the next one."""
    memory = Path("/dev/shm")
    directory = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None, prefix="jinx-oracle-"))
    numbers = itertools.count()

    def new(suffix: str) -> Path:
        for file in directory.iterdir():
            file.unlink()
        return directory / f"{next(numbers)}{suffix}"

    yield new
    shutil.rmtree(directory)


def ours(path: Path) -> Any:
    """The value `a` of the first row, or the whole row if there is none; what our errors stand for is `REFUSED`."""
    try:
        row = dict(jinx.open(path)[0])
    except (jinx.CorruptFileError, jinx.LimitError, jinx.UnsupportedError):
        return REFUSED
    return row["a"] if set(row) == {"a"} else row


def stored(path: Path, key: str, data: bytes) -> Any:
    """What we read of bytes in a sidecar under a key with suffixes."""
    writer = Writer(path, binary_threshold=1)
    at = writer.store(data)
    writer.line(json.dumps({f"{key}.bin": at}).encode())
    writer.close()
    return ours(path)


def theirs(decode: Callable[[Any], Any], data: Any) -> Any:
    try:
        return decode(data)
    except Exception:  # noqa: BLE001 - each library has its own
        return REFUSED


# Bytes as text: no difference at all.
ENCODINGS: dict[str, tuple[Callable[[str], bytes], str]] = {
    "a85": (lambda text: base64.a85decode(text, foldspaces=True), base64.a85encode(TEXT + bytes(8)).decode()),
    "b64": (base64.b64decode, base64.b64encode(TEXT).decode()),
    "hex": (bytes.fromhex, TEXT.hex()),
}
CHARACTERS = st.one_of(
    st.sampled_from("zy =\t\n\r\v\f!ut~<>AZaf09+/-_\0é\u2028"), st.characters(exclude_categories=["Cs"])
)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(data=st.data())
def test_bytes_as_text_are_read_as_python_reads_them(encoding, place, data):
    decode, whole = ENCODINGS[encoding]
    text = data.draw(mutated_text(whole, whole[:8], whole[:-1], "", parts=st.text(CHARACTERS, max_size=4)))
    path = place(".jinx")
    writer = Writer(path, encoding=encoding)
    writer.line(json.dumps({"a.raw": text}).encode())
    writer.close()
    assert ours(path) == theirs(decode, text)


def each_member(make: Callable[[], Any], data: bytes, *, zeros: bool = False) -> bytes:
    """All members of a compressed file, one after the other; zeros may lie behind each where that is allowed."""
    out = b""
    while True:
        decoder = make()
        out += decoder.decompress(data)
        if not decoder.eof:
            raise ValueError("ends early")
        data = decoder.unused_data.lstrip(b"\0") if zeros else decoder.unused_data
        if not data:
            return out


def unbrotli(data: bytes) -> bytes:
    decoder = brotli.Decompressor()
    out = decoder.process(data)
    if not decoder.is_finished():
        raise ValueError("ends early")
    return out


# Others stop silently at the end of what they were given, or of the first member; that is not taken here.
DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "zst": lambda data: each_member(lambda: zstandard.ZstdDecompressor().decompressobj(), data),
    "gz": lambda data: each_member(lambda: zlib.decompressobj(31), data, zeros=True),
    "bz2": lambda data: each_member(bz2.BZ2Decompressor, data),
    "xz": lambda data: each_member(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), data, zeros=True),
    "lzma": lambda data: each_member(lzma.LZMADecompressor, data, zeros=True),
    "lz4": lambda data: each_member(lz4.frame.LZ4FrameDecompressor, data),
    "br": unbrotli,
    "snappy": lambda data: bytes(cramjam.snappy.decompress(data)),
}


@pytest.mark.parametrize("codec", DECODERS)
@given(data=st.data())
def test_compressed_values_are_read_as_the_reference_reads_them(codec, place, data):
    packed = CODECS[codec](TEXT)
    value = data.draw(mutated(packed, packed, CODECS[codec](b""), packed + packed, b""))
    found = stored(place(".jinx"), f"a.raw.{codec}", value)
    assert found == theirs(DECODERS[codec], value), value.hex()


ARRAYS = [
    npy(np.arange(6, dtype="<i4").reshape(2, 3)),
    npy(np.asfortranarray(np.ones((2, 3), ">f8"))),
    npy(np.array(3.5, "<f2")),
    npy(np.array(["ab", "c"], "<U2")),
    npy(np.array([b"ab", b"c"], "|S2")),
    npy(np.array([1, 2], "<M8[ns]")),
    npy(np.array([True, False])),
    npy(np.zeros((0, 4), "<c8")),
]

HEADER_WORDS = (
    "' \" , ( ) { } : descr shape True False None 0 -1 99999999999999999999 <f4 >i2 |O f8 |V3 <U0 1L 1.0 [] # \\ é "
    "[('a','<f8')] lambda:1"
)
WORDS = st.sampled_from([" ", "\n", *HEADER_WORDS.split()])


@st.composite
def arrays(draw: st.DrawFn) -> bytes:
    """A payload with a changed header whose length is right, or with any change at all."""
    whole = draw(st.sampled_from(ARRAYS))
    if draw(st.booleans()):
        return draw(mutated(whole))
    end = 10 + int.from_bytes(whole[8:10], "little")
    header = draw(mutated_text(whole[10:end].decode("latin1"), parts=WORDS)).encode("utf-8")
    return whole[:8] + len(header).to_bytes(2, "little") + header + whole[end:]


def load(data: bytes) -> Any:
    file = io.BytesIO(data)
    array = np.load(file, allow_pickle=False)
    # numpy leaves what is behind an array to whoever reads next.
    if file.read(1):
        raise ValueError("something is behind the array")
    return array


def is_plainly_written(data: bytes) -> bool:
    """Whether the header is one that numpy writes, and not merely a Python literal that means the same."""
    end = 10 + int.from_bytes(data[8:10], "little")
    try:
        given = ast.literal_eval(data[10:end].decode("latin1").strip())
    except (ValueError, SyntaxError):
        return False
    out = io.BytesIO()
    try:
        np.lib.format.write_array_header_1_0(out, given)
    except Exception:  # noqa: BLE001 - whatever it is, numpy does not write it
        return False
    return out.getvalue()[10:].split() == data[10:end].split()


@given(data=arrays())
def test_arrays_are_read_as_numpy_reads_them(place, data):
    found, expected = stored(place(".jinx"), "a.npy", data), theirs(load, data)
    if found is REFUSED:
        assert expected is REFUSED or not is_plainly_written(data) or expected.dtype.kind == "V", data
    else:
        assert isinstance(found, np.ndarray)
        assert expected is not REFUSED, data
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes("A") == expected.tobytes("A")


ROWS = [
    b'{"a":1}',
    b'{"a":[1,2.5,-3e10,null,true,false,"x"],"b":{"c":{},"d":[]}}',
    b'{"a":"caf\xc3\xa9 \\u00e9 \\ud83d\\ude00 \\n\\"\\\\","b":"\xf0\x9f\x98\x80"}',
    b'{"a":12345678901234567890123,"b":1e-400,"c":0.1,"d":-0.0,"e":-0}',
    b' {  "a" : [ 1 , 2 ] , "a" : {"b" : null} } ',
]


def loads(line: bytes) -> Any:
    return json.loads(line.decode("utf-8"), parse_constant=int)  # int refuses NaN and infinities


def is_alike(one: Any, other: Any) -> bool:
    """Equal, types and the sign of zero included."""
    return repr(one) == repr(other)


@given(line=mutated(*ROWS).filter(lambda line: not set(b"\r\n") & set(line)))
@example(b'{"a":"\\ud800"}')
@example(b'{"a\0":1}')
@example(b'{"a":1e999}')
@example(b'{"a":' + b"[" * 255 + b"]" * 255 + b"}")
@example(b'{"a":' + b"[" * 256 + b"]" * 256 + b"}")
@example(b'{"a":' + b"9" * 4300 + b"}")
@example(b'{"a":' + b"9" * 4301 + b"}")
def test_rows_are_read_as_python_reads_them(place, line):
    path = place(".jsonl")
    path.write_bytes(line + b"\n")
    expected = theirs(loads, line)
    try:
        found = jinx.open(path)[0].to_dict()
    except (jinx.CorruptFileError, jinx.LimitError, jinx.UnsupportedError, IndexError):
        found = REFUSED
    if found is REFUSED:
        # Meant: a row is an object, half a surrogate pair is not a string, a number fits a float; at most 256 levels.
        text = line.decode("utf-8", "replace")
        assert (
            not isinstance(expected, dict)
            or re.search(r"\\u[dD][89a-fA-F]|inf", text + repr(expected))
            or text.count("[") > 255
        )
    else:
        # Meant: of a name that appears twice the last one holds, and what the first one held is not looked at.
        names = re.findall(rb'"([^"]*)"\s*:', line)
        assert is_alike(found, expected) or (expected is REFUSED and len(names) > len(set(names))), line
