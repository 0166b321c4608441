"""Makes the bad vectors, each one damage to a file that is otherwise right: `python spec/vectors/make_bad.py`."""

import base64
import bz2
import gzip
import lzma
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import brotli
import lz4.frame
import numpy as np
import orjson
import snappy
import write_1_0
from tagging import HERE, tag, update
from write_1_1 import Writer, manifest, npy, with_digest, x, zst

OUT = HERE / "bad"
ENTRIES: list[dict] = []
NOISE = random.Random(5).randbytes(100)
GOOD = {"id": 0}


def entry(name: str, error: str, at: str, about: str, path: str | None = None, row: int = 1, good: dict | None = None) -> None:
    """Adds one vector to the list."""
    expect: dict = {"error": error, "at": at}
    if at != "open":
        expect["row"] = row
    if at == "value":
        expect["good"] = {"0": tag(good or GOOD)}
    ENTRIES.append({"name": f"bad/{name}", "about": about, "path": path or f"bad/{name}.jinx", "expect": expect})


def new(name: str) -> Writer:
    """A 1.1 pair with one good row."""
    writer = Writer(OUT / f"{name}.jinx")
    writer.write(GOOD)
    return writer


def opening(name: str, error: str, about: str, *, media: bool = False, **close: object) -> None:
    """A 1.1 pair that cannot be opened."""
    writer = new(name)
    writer.write({"id": 1, **({"data": NOISE} if media else {})})
    writer.close(**close)
    entry(name, error, "open", about)


def row(name: str, error: str, about: str, line: bytes, *coded: tuple, at: str = "row") -> None:
    """A 1.1 pair whose second line is made by hand."""
    writer = new(name)
    writer.line(line)
    writer.coded(*coded)
    writer.close()
    entry(name, error, at, about)


def value(name: str, error: str, about: str, make: Callable[[Writer], dict], *coded: tuple) -> None:
    """A 1.1 pair with one value that cannot be read; `make` gives the stored row."""
    writer = new(name)
    members = make(writer)
    writer.line(orjson.dumps(members))
    paths = coded or tuple((key.split(".")[0],) for key in members)
    writer.coded(*paths)
    writer.close()
    entry(name, error, "value", about)


def old(name: str, error: str, at: str, about: str, make: Callable[[write_1_0.Writer], dict | bytes], change: Callable[[Path], None] | None = None,
        close: dict | None = None, **options: object) -> None:  # fmt: skip
    """A 1.0 pair."""
    writer = write_1_0.Writer(OUT / f"{name}.jinx", **options)
    writer.write(GOOD)
    made = make(writer)
    writer.line(made if isinstance(made, bytes) else orjson.dumps(made))
    writer.close(**(close or {}))
    if change:
        change(writer.path)
    entry(name, error, at, about)


def trailer() -> None:
    """The last line."""

    def last(text: bytes) -> Callable[[bytes], bytes]:
        return lambda data: data[: data.rstrip().rfind(b"\n") + 1] + text

    opening("empty_file", "truncated", "no bytes at all", main=lambda _: b"")
    opening("only_blanks", "truncated", "nothing but line ends", main=lambda _: b"\n\n\n")
    opening("no_trailer", "truncated", "the file ends after the footer", main=last(b""))
    opening("cut_in_footer", "truncated", "a copy that was stopped", main=lambda data: data[:-60])
    opening("cut_in_rows", "truncated", "a copy that was stopped", main=lambda data: data[:15])
    opening("garbage", "truncated", "not a JINX file", main=lambda _: random.Random(1).randbytes(3000) + b"\xff")
    opening("garbage_then_number", "corrupt", "text that ends in a number", main=lambda _: b"hello\nworld\n3\n")
    opening("offset_negative", "truncated", "no digits", main=last(b"-5\n"))
    opening("offset_float", "truncated", "no digits", main=last(b"20.0\n"))
    opening("offset_hex", "truncated", "no digits", main=last(b"0x14\n"))
    opening("offset_huge", "truncated", "more than 20 digits", main=last(b"1" + b"0" * 400 + b"\n"))
    opening("offset_2_64", "corrupt", "a number above 2^64-1", main=last(b"18446744073709551616\n"))
    opening("offset_past_end", "corrupt", "points past the file", main=last(b"1000000\n"))
    opening("offset_largest", "corrupt", "2^64-1", main=last(b"18446744073709551615\n"))
    opening("offset_in_row", "corrupt", "points into a line", main=last(b"3\n"))
    opening("offset_of_row", "corrupt", "points at the last row", main=last(b"9\n"))
    opening("offset_leading_zero", "corrupt", "one spelling only", main=lambda data: last(b"018\n")(data))
    opening("trailing_blank", "corrupt", "blanks after the trailer are for 1.0 only", main=lambda data: data + b"\n")
    opening("trailing_garbage", "truncated", "a line after the trailer", main=lambda data: data + b"{}\n")
    opening("crlf", "corrupt", "line ends were translated", main=lambda data: data.replace(b"\n", b"\r\n"))


def footer() -> None:
    """The footer's text and members."""
    opening("footer_not_json", "corrupt", "a missing bracket", footer_bytes=lambda text: text[:-1])
    opening("footer_is_list", "corrupt", "not an object", footer_bytes=lambda _: b"[]")
    opening("footer_utf8", "corrupt", "not UTF-8", footer_bytes=lambda text: text.replace(b"jinx-vectors", b"jinx-v\xffctors"))
    deep = b"[" * 20000 + b"]" * 20000
    opening("footer_deep", "corrupt", "nested 20,000 times", footer_bytes=lambda text: with_digest(text[:-29] + b',"deep":' + deep + b"}"))
    opening("footer_long_int", "corrupt", "an integer of 4301 digits",
            footer_bytes=lambda text: with_digest(text[:-29] + b',"n":' + b"7" * 4301 + b"}"))  # fmt: skip
    opening("footer_duplicate", "corrupt", "a member twice, digest right",
            footer_bytes=lambda text: with_digest(text.rsplit(b',"digest"', 1)[0] + b',"num_samples":2}'))  # fmt: skip

    def twice(member: bytes) -> Callable[[bytes], bytes]:
        return lambda text: with_digest(text.rsplit(b',"digest"', 1)[0].replace(member, member + b"," + member, 1) + b"}")

    opening("footer_duplicate_array", "corrupt", "a member of an array's object twice, digest right", footer_bytes=twice(b'"length":16'))
    opening("footer_duplicate_field", "corrupt", "a member of a field's kinds twice, digest right", footer_bytes=twice(b'"int":2'))
    opening("footer_duplicate_meta", "corrupt", "a member twice in the user's own object, digest right", meta={"a": [{"b": 1}]}, footer_bytes=twice(b'"b":1'))
    opening("digest_wrong", "corrupt", "one byte changed", footer_bytes=lambda text: text.replace(b'"shard_id":-1', b'"shard_id":-2'))
    opening("digest_missing", "corrupt", "1.1 without a digest", footer_bytes=lambda text: text.rsplit(b',"digest"', 1)[0] + b"}")
    opening("digest_not_last", "corrupt", "a member after it", footer_bytes=lambda text: text[:-1] + b',"more":1}')

    def without(*names: str) -> Callable[[dict], dict]:
        return lambda table: {name: item for name, item in table.items() if not any(name.startswith(n) for n in names)}

    def put(**members: object) -> Callable[[dict], dict]:
        return lambda table: table | members

    opening("no_index", "corrupt", "no member that starts with index.", edit=without("index."))
    for name in ("num_samples", "id", "line_hash", "fields", "columns"):
        opening(f"no_{name}", "corrupt", f"{name} is missing", edit=without(name))
    for what, count in (("negative", -1), ("float", 2.0), ("bool", True), ("text", "2"), ("wrong", 3), ("huge", 2**63)):
        opening(f"num_samples_{what}", "corrupt", f"num_samples is {count!r}", edit=put(num_samples=count))
    opening("version_2", "unsupported", "another major version", edit=put(version="2.0"))
    opening("version_number", "corrupt", "not a text", edit=put(version=1.1))
    opening("version_word", "corrupt", "not two numbers", edit=put(version="new"))
    opening("feature_unknown", "unsupported", "a required feature", edit=put(features_required=["columns-v9"]))
    opening("encoding_unknown", "unsupported", "another text encoding", edit=put(encoding="b32"))
    opening("ext_sep_other", "unsupported", "1.1 has one separator", edit=put(ext_sep="~"))
    opening("line_hash_short", "corrupt", "one hash for two lines", hashes=lambda data: data[:8])
    opening("line_hash_x", "corrupt", "its own hash is wrong", edit=lambda t: t | {"line_hash": t["line_hash"] | {"x": "0" * 16}})
    opening("line_hash_length", "corrupt", "length and data differ", edit=lambda t: t | {"line_hash": t["line_hash"] | {"length": 24}})
    for i, evil in enumerate(("../bad.binx", "a/b.binx", "..", "", "C:x.binx", "a\\b.binx", "a\0b.binx", "n" * 256, "/etc/passwd", " x.binx", "x.")):
        opening(f"sidecar_name_{i}", "corrupt", f"sidecar name {evil[:20]!r}", media=True, sidecar_name=evil)


def index() -> None:
    """Line offsets."""

    def redo(change: Callable[[bytes], bytes]) -> Callable[[dict], dict]:
        def edit(table: dict) -> dict:
            raw = np.array([0, 9, 18], "<u8").tobytes()
            return table | {"index.npy.zst": base64.b64encode(zst(change(raw))).decode()}

        return edit

    opening("index_short", "corrupt", "n entries", edit=redo(lambda raw: raw[:-8]))
    opening("index_long", "corrupt", "n+2 entries", edit=redo(lambda raw: raw + raw[-8:]))
    opening("index_ragged", "corrupt", "not a multiple of 8", edit=redo(lambda raw: raw[:-3]))
    opening("index_empty", "corrupt", "no entries", edit=redo(lambda _: b""))
    opening("index_first", "corrupt", "does not begin with 0", index=lambda at: [1, *at[1:]])
    opening("index_last", "corrupt", "does not end at the footer", index=lambda at: [*at[:-1], at[-1] - 1])
    opening("index_past_footer", "corrupt", "ends past the footer", index=lambda at: [*at[:-1], at[-1] + 5])
    opening("index_base64", "corrupt", "text with a foreign character", edit=lambda t: t | {"index.npy.zst": "*" + t["index.npy.zst"][1:]})
    opening("index_zstd", "corrupt", "not a zstd frame", edit=lambda t: t | {"index.npy.zst": "AAAA" + t["index.npy.zst"][4:]})
    opening("index_not_text", "corrupt", "a number", edit=lambda t: t | {"index.npy.zst": 5})
    opening("index_form", "unsupported", "an unknown codec", edit=lambda t: {"index.npy.zip": t.pop("index.npy.zst"), **t})
    for name, change in (("descending", lambda at: [0, 30, 20, *at[3:]]), ("equal", lambda at: [0, at[1], at[1], *at[3:]]),
                         ("wild", lambda at: [0, at[1], 2**63, *at[3:]])):  # fmt: skip
        writer = new(f"index_{name}")
        writer.write({"id": 1})
        writer.write({"id": 2})
        writer.close(index=change)
        entry(f"index_{name}", "corrupt", "row", "the entries must ascend")
    for name, error, change in (("past_end", "truncated", {"offset": 2**40}), ("overflow", "truncated", {"offset": 2**64 - 8}), ("length", "corrupt", {"length": 16}),
                                ("negative", "corrupt", {"offset": -64}), ("in_header", "corrupt", {"offset": 0})):  # fmt: skip
        writer = Writer(OUT / f"index_pointer_{name}.jinx", pointers=True)
        writer.write(GOOD)
        writer.write({"id": 1})
        writer.close(edit=lambda t, change=change: t | {"index.npy.bin": t["index.npy.bin"] | change})
        entry(f"index_pointer_{name}", error, "open", "the index pointer")
    for name, about, change in (
        ("zero", "chunks of 0 bytes", {"chunk": 0}), ("odd", "chunks of 12 bytes", {"chunk": 12}), ("small", "smaller chunks than those of xs", {"chunk": 8}),
        ("whole", "a chunk as long as the array", {"chunk": 24, "xs": Writer.inline(bytes(8))}), ("huge", "chunks of 2^63 bytes", {"chunk": 2**63, "xs": Writer.inline(bytes(8))}),
        ("negative", "chunks of -16 bytes", {"chunk": -16}), ("text", "not a number", {"chunk": "16"}), ("alone", "no xs", {"xs": None}),
        ("missing", "xs without chunk", {"chunk": None}), ("xs_short", "fewer hashes than chunks", {"xs": Writer.inline(bytes(8))}),
        ("xs_long", "more hashes than chunks", {"xs": Writer.inline(bytes(24))}), ("xs_ragged", "half a hash", {"xs": Writer.inline(bytes(12))}),
        ("xs_pointer", "hashes in the sidecar, where they overlap the index", {"xs": {"offset": 64, "length": 16, "x": "0" * 16}}),
        ("xs_list", "hashes as JSON", {"xs": [1, 2]}),
    ):  # fmt: skip
        writer = Writer(OUT / f"chunk_{name}.jinx", pointers=True, chunk=16)
        writer.write(GOOD)
        writer.write({"id": 1})

        def edit(table: dict, change: dict = change) -> dict:
            pointer = table["index.npy.bin"] | change
            return table | {"index.npy.bin": {key: value for key, value in pointer.items() if value is not None}}

        writer.close(edit=edit)
        entry(f"chunk_{name}", "corrupt", "open", about)


def rows() -> None:
    """Lines."""
    writer = new("line_hash_wrong")
    writer.write({"id": 1})
    writer.close(main=lambda data: data.replace(b'{"id":1}', b'{"id":7}'))
    entry("line_hash_wrong", "corrupt", "value", "one byte of a line changed")
    row("row_list", "corrupt", "not an object", b"[1]")
    row("row_empty", "corrupt", "an empty line", b"")
    row("row_not_json", "corrupt", "a missing bracket", b'{"a":1')
    row("row_two", "corrupt", "two objects", b'{"a":1}{"b":2}')
    row("row_comma", "corrupt", "a comma at the end", b'{"a":[1,]}')
    row("row_utf8", "corrupt", "not UTF-8", b'{"a":"\xff\xfe"}')
    row("row_key_utf8", "corrupt", "a name that is not UTF-8", b'{"\xc0\xaf":1}')
    row("row_bom", "corrupt", "a byte order mark", b'\xef\xbb\xbf{"a":1}')
    row("row_surrogate", "corrupt", "half a character", rb'{"a":"\ud800"}')
    row("row_control", "corrupt", "a raw control character", b'{"a":"\t"}')
    row("row_nan", "corrupt", "NaN is not JSON", b'{"a":NaN}')
    row("row_infinity", "corrupt", "nor is Infinity", b'{"a":[-Infinity]}')
    row("row_overflow", "corrupt", "a double cannot hold it", b'{"a":1e400}')
    row("row_leading_zero", "corrupt", "no JSON number", b'{"a":01}')
    row("row_deep", "limit", "level 257", b'{"a":' + b"[" * 256 + b"]" * 256 + b"}")
    row("row_very_deep", "limit", "nested 20,000 times", b'{"a":' + b'{"":' * 20000 + b"1" + b"}" * 20001)
    row("row_long_int", "limit", "4301 digits", b'{"a":' + b"1" * 4301 + b"}")
    row("row_long_int_nested", "limit", "4301 digits", b'{"a":[{"b":-' + b"1" * 4301 + b"}]}")
    row("twice", "corrupt", "a name twice", b'{"a":1,"b":2,"a":1}')
    row("twice_nested", "corrupt", "a name twice, below", b'{"a":[{"b":{"c":1,"c":2}}]}')
    row("twice_escaped", "corrupt", "a name twice, once with an escape", rb'{"a":1,"\u0061":2}')
    row("twice_chain", "corrupt", "a name twice, once with a chain", b'{"a":1,"a.raw":"YQ=="}', ("a",))
    row("twice_quoted", "corrupt", "a name twice, once quoted", b'{"a":1,"a...":2}')


def keys() -> None:
    """Keys that the grammar of 1.1 does not allow."""
    text = base64.b64encode(b"x").decode()
    for name, key, stored in (
        ("unknown", "a.jpg", text), ("unknown_codec", "a.raw.zip", text), ("two_types", "a.raw.str", text), ("codec_first", "a.zst.raw", text),
        ("after_bin", "a.bin.zst", text), ("upper_case", "a.RAW", text), ("end", "a.", text), ("only_dots", "..", 1), ("wrapper_outside", "..raw.", text),
        ("empty_quoted", "...", 1), ("empty_part", "a.raw..zst", text), ("quoted_unknown", "a.b..zip.", text), ("dtype_codec", "a.int8.zst", 1),
    ):  # fmt: skip
        row(f"key_{name}", "corrupt", f"key {key!r}", orjson.dumps({key: stored}), ("a",), at="value")
    for name, element in (("empty_chain", {"...": 1}), ("two_members", {"..raw.": text, "b": 1}), ("named", {"..raw.zip.": text})):
        row(f"wrapper_{name}", "corrupt", f"list element {element!r}", orjson.dumps({"a": [element]}), ("a", None), at="value")
    for name, key, stored in (
        ("number_raw", "a.raw", 5), ("text_int", "a.int8", "5"), ("text_pointer", "a.raw.bin", text), ("object_inline", "a.raw", {"offset": 64, "length": 1}),
        ("null_raw", "a.raw", None), ("null_int", "a.int64", None), ("bool_float", "a.float32", True), ("list_raw", "a.raw", [text]),
        ("int_range", "a.int8", 128), ("int_negative", "a.uint16", -1), ("int_fraction", "a.int32", 1.5), ("int_float", "a.int32", 1.0),
        ("int_64", "a.uint64", 2**64 - 1), ("float_text", "a.float64", "many"), ("float_empty", "a.float32", ""),
    ):  # fmt: skip
        if name == "int_64":
            row(f"fit_{name}", "corrupt", "2^64 in 64 bits", b'{"a.uint64":18446744073709551616}', ("a",), at="value")
        else:
            row(f"fit_{name}", "corrupt", f"{key} with {stored!r}", orjson.dumps({key: stored}), ("a",), at="value")
    row("chain_long", "limit", "four codecs", orjson.dumps({"a.raw.zst.zst.zst.zst": text}), ("a",), at="value")
    row("chain_very_long", "limit", "a thousand codecs", orjson.dumps({"a.raw" + ".zst" * 1000: text}), ("a",), at="value")


def pointers() -> None:
    """Pointers into the sidecar."""

    def pointed(name: str, error: str, about: str, change: dict, drop: str = "") -> None:
        value(f"pointer_{name}", error, about, lambda w: {"a.raw.bin": {k: v for k, v in (w.store(NOISE) | change).items() if k != drop}})

    pointed("past_end", "truncated", "length too large", {"length": 2**20})
    pointed("offset_past_end", "truncated", "offset too large", {"offset": 2**40})
    pointed("overflow", "truncated", "offset + length exceeds 64 bits", {"offset": 2**64 - 1, "length": 2})
    pointed("huge_length", "truncated", "length 2^63", {"length": 2**63})
    pointed("negative_length", "corrupt", "length -1", {"length": -1})
    pointed("negative_offset", "corrupt", "offset -1", {"offset": -1})
    pointed("float_offset", "corrupt", "offset 64.0", {"offset": 64.0})
    pointed("text_offset", "corrupt", "offset as text", {"offset": "64"})
    pointed("null_length", "corrupt", "length null", {"length": None})
    pointed("bool_length", "corrupt", "length true", {"length": True})
    pointed("in_header", "corrupt", "offset below 64", {"offset": 16, "length": 8})
    pointed("wrong_x", "corrupt", "hash of other bytes", {"x": "0123456789abcdef"})
    pointed("short_x", "corrupt", "15 digits", {"x": "123456789abcdef"})
    pointed("upper_x", "corrupt", "upper case", {"x": "ABCDEFABCDEFABCD"})
    for name in ("offset", "length", "x"):
        pointed(f"no_{name}", "corrupt", f"no {name}", {}, drop=name)
    row("pointer_no_sidecar", "mismatch", "the footer says there is none", b'{"a.raw.bin":{"offset":64,"length":1,"x":"0123456789abcdef"}}', ("a",), at="value")
    writer = new("value_changed")
    writer.write({"a": NOISE})
    writer.close(side=lambda data: data[:70] + bytes([data[70] ^ 1]) + data[71:])
    entry("value_changed", "corrupt", "value", "one bit of a value changed")


def payloads() -> None:
    """Texts, streams and typed bytes."""
    for name, text in (("character", "YW*j"), ("padding", "YWJ"), ("non_ascii", "YW\u00e9j")):
        row(f"base64_{name}", "corrupt", f"text {text!r}", orjson.dumps({"a.raw": text}), ("a",), at="value")
    data = b"the quick brown fox " * 20
    framed = snappy.StreamCompressor()
    streams = {"zst": zst(data), "gz": gzip.compress(data, mtime=0), "bz2": bz2.compress(data), "xz": lzma.compress(data), "lzma": lzma.compress(data),
               "lz4": lz4.frame.compress(data, content_checksum=True), "br": brotli.compress(data), "snappy": framed.compress(data) + framed.flush()}  # fmt: skip
    for codec, stream in streams.items():
        for what, broken in (("cut", stream[:-3]), ("empty", b""), ("noise", NOISE)):
            if (codec, what) == ("br", "noise"):
                continue  # brotli has no signature: noise may look like a stream that ends early
            value(f"{codec}_{what}", "corrupt" if what == "noise" else "truncated", f"{codec} stream: {what}", lambda w, c=codec, b=broken: {f"a.raw.{c}": w.text(b)})
    for codec in ("zst", "br", "gz"):
        value(f"{codec}_rest", "corrupt", "bytes after the stream", lambda w, c=codec: {f"a.raw.{c}": w.text(streams[c] + b"rest of it")})
    changed = bytearray(streams["gz"])
    changed[-6] ^= 1
    value("gz_crc", "corrupt", "checksum of the stream", lambda w: {"a.raw.gz": w.text(bytes(changed))})
    flipped = bytearray(streams["snappy"])
    flipped[14] ^= 1
    value("snappy_crc", "corrupt", "checksum of a chunk", lambda w: {"a.raw.snappy": w.text(bytes(flipped))})
    huge = b"\x28\xb5\x2f\xfd" + b"\xe0" + (3 << 30).to_bytes(8, "little") + b"\x03\x00\x00" + b"x"
    value("zst_huge", "limit", "announces 3 GiB", lambda w: {"a.raw.zst": w.text(huge)})
    window = b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([(31 - 10) << 3]) + b"\x0b\x00\x00" + b"x"
    value("zst_window", "limit", "a window of 2 GiB", lambda w: {"a.raw.zst": w.text(window)})
    value("zst_dictionary", "unsupported", "needs a dictionary", lambda w: {"a.raw.zst": w.text(b"\x28\xb5\x2f\xfd\x21\x07\x01\x09\x00\x00x")})
    value("text_utf8", "corrupt", "str that is not UTF-8", lambda w: {"a.str": w.text(b"\xff\xfe")})
    value("text_surrogate", "corrupt", "UTF-8 of half a character", lambda w: {"a.str": w.text(b"\xed\xa0\x80")})
    value("json_bad", "corrupt", "JSON payload", lambda w: {"a.zst": w.text(zst(b"{"))})
    value("json_deep", "limit", "JSON payload", lambda w: {"a.zst": w.text(zst(b"[" * 5000 + b"]" * 5000))})

    def header(text: str, rest: bytes = b"", version: int = 1) -> bytes:
        return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(text)) + text.encode() + rest

    plain = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n"
    arrays = {
        "object": header(plain.replace("'<i4'", "'|O'"), bytes(16)), "zip": b"PK\x03\x04" + bytes(60), "magic": b"\x93NUMPX" + npy(np.arange(3))[6:],
        "shape_lies": header(plain.replace("(2,)", "(1099511627776,)"), bytes(8)), "shape_overflow": header(plain.replace("(2,)", "(4294967296, 4294967296)"), bytes(8)),
        "short": header(plain, bytes(7)), "long": header(plain, bytes(9)), "negative": header(plain.replace("(2,)", "(-1,)"), bytes(8)),
        "float_shape": header(plain.replace("(2,)", "(2.0,)"), bytes(8)), "header_cut": header(plain)[:30], "no_descr": header("{'fortran_order': False, 'shape': (2,)}", bytes(8)),
        "code": header(plain.replace("'<i4'", "__import__('os').getcwd()"), bytes(8)), "version": header(plain, bytes(8), version=9),
        "void": header(plain.replace("'<i4'", "'|V4'"), bytes(8)), "unknown": header(plain.replace("'<i4'", "'<i3'"), bytes(6)), "empty": b"",
    }  # fmt: skip
    for name, array in arrays.items():
        value(f"npy_{name}", "corrupt", f"array: {name}", lambda w, a=array: {"a.npy": w.text(a)})
    structured = header(plain.replace("'<i4'", "[('a', '<i4')]"), bytes(8))
    value("npy_structured", "unsupported", "structured array", lambda w: {"a.npy": w.text(structured)})
    for name, item in (("size", b"<f8\0" + bytes(4)), ("two", b"<i4\0" + bytes(8)), ("object", b"|O\0" + bytes(8)), ("no_zero", b"<f8"), ("dtype", b"evil\0" + bytes(8))):
        value(f"np_{name}", "corrupt", f"np scalar: {name}", lambda w, i=item: {"a.np": w.text(i)})


def sidecar() -> None:
    """The second file."""
    opening("sidecar_missing", "mismatch", "there is none", media=True, side=lambda _: None)
    opening("sidecar_empty", "truncated", "no bytes", media=True, side=lambda _: b"")
    opening("sidecar_short", "truncated", "part of the header", media=True, side=lambda data: data[:40])
    opening("sidecar_cut", "truncated", "the last byte is missing", media=True, side=lambda data: data[:-1])
    opening("sidecar_long", "corrupt", "a byte too many", media=True, side=lambda data: data + b"\0")
    opening("sidecar_magic", "corrupt", "another magic", media=True, side=lambda data: b"\x89PNGX" + data[5:])
    opening("sidecar_header_flip", "corrupt", "one bit of the id", media=True, side=lambda data: data[:20] + bytes([data[20] ^ 1]) + data[21:])
    opening("sidecar_other", "mismatch", "another dataset's sidecar", media=True, header=lambda head: head.__setitem__(slice(16, 32), bytes(16)))
    opening("sidecar_major", "unsupported", "major version 2", media=True, header=lambda head: head.__setitem__(8, 2))
    opening("sidecar_flags", "unsupported", "a flag is set", media=True, header=lambda head: head.__setitem__(12, 1))
    opening("sidecar_wrong_id", "mismatch", "the footer has another id", media=True, edit=lambda t: t | {"id": "0" * 32})


def folders() -> None:
    """Directories and manifests."""

    def folder(name: str, error: str, at: str, about: str, edit: Callable | None = None, text: Callable | None = None,
               change: Callable[[Path], None] | None = None, number: int = 2) -> None:  # fmt: skip
        path, footers = OUT / name, []
        for i in (0, 1):
            writer = Writer(path / f"shard-{i:05d}.jinx")
            writer.write({"shard": i})
            writer.write({"data": NOISE})
            footers.append((writer.path.name, writer.close(shard_id=i)))
        manifest(path, footers, edit, text)
        if change:
            change(path)
        entry(name, error, at, about, path=f"bad/{name}", row=number)

    def shard(**members: object) -> Callable[[dict], None]:
        return lambda table: table["shards"][1].update(members)

    def twice(member: bytes) -> Callable[[bytes], bytes]:
        return lambda text: with_digest(text.rsplit(b',"digest"', 1)[0].replace(member, member + b"," + member, 1) + b"}") + b"\n"

    second, third = "shard-00001.jinx", "shard-00001.binx"
    folder("shard_missing", "mismatch", "row", "listed but not there", change=lambda p: (p / second).unlink())
    folder("shard_sidecar_missing", "mismatch", "row", "its sidecar is not there", change=lambda p: (p / third).unlink())
    folder("shard_cut", "truncated", "row", "smaller than listed", change=lambda p: (p / second).write_bytes((p / second).read_bytes()[:-20]))
    folder("shard_id", "mismatch", "row", "another shard under the name", edit=shard(id="0" * 32))
    folder("shard_samples", "mismatch", "row", "another number of samples", edit=lambda t: (shard(samples=3)(t), t.update(num_samples=5))[0])
    folder("shard_size", "mismatch", "row", "larger than listed", edit=shard(bytes=100))
    for i, evil in enumerate(("../shard_id/shard-00000.jinx", "a/b.jinx", "..", "", "/etc/hosts", "C:\\x.jinx")):
        folder(f"shard_name_{i}", "corrupt", "open", f"shard name {evil!r}", edit=shard(name=evil))
    folder("manifest_sum", "corrupt", "open", "num_samples is not the sum", edit=lambda t: t | {"num_samples": 9})
    folder("manifest_digest", "corrupt", "open", "one byte changed", text=lambda data: data.replace(b'"generation":1', b'"generation":2'))
    folder("manifest_no_digest", "corrupt", "open", "no digest", text=lambda data: data.rsplit(b',"digest"', 1)[0] + b"}\n")
    folder("manifest_cut", "corrupt", "open", "half of it", text=lambda data: data[: len(data) // 2])
    folder("manifest_empty", "corrupt", "open", "no bytes", text=lambda _: b"")
    folder("manifest_duplicate", "corrupt", "open", "a member twice, digest right", text=twice(b'"generation":1'))
    folder("manifest_duplicate_shard", "corrupt", "open", "a member of a shard's entry twice, digest right", text=twice(b'"samples":2'))
    folder("manifest_duplicate_meta", "corrupt", "open", "a member twice in the user's own object, digest right",
           edit=lambda t: t | {"meta": {"a": {"b": 1}}}, text=twice(b'"b":1'))  # fmt: skip
    folder("manifest_format", "corrupt", "open", "another format", edit=lambda t: t | {"format": "mds"})
    folder("manifest_version", "unsupported", "open", "another major version", edit=lambda t: t | {"version": "2.0"})
    folder("manifest_feature", "unsupported", "open", "a required feature", edit=lambda t: t | {"features_required": ["x"]})
    (OUT / "folder_without_shards").mkdir()
    (OUT / "folder_without_shards" / "readme.txt").write_text("nothing here\n")
    entry("folder_without_shards", "mismatch", "open", "neither manifest nor shards", path="bad/folder_without_shards")


def version_1_0() -> None:
    """1.0 files."""

    def cut(path: Path) -> None:
        path.with_suffix(".binx").write_bytes(path.with_suffix(".binx").read_bytes()[:-1])

    none: Callable = lambda _: {"id": 1}  # noqa: E731
    old("old_sidecar_missing", "mismatch", "value", "a value without its file", lambda w: {"a.raw.bin": w.store(NOISE)}, lambda p: p.with_suffix(".binx").unlink())
    old("old_sidecar_cut", "truncated", "value", "the last byte is missing", lambda w: {"a.raw.bin": w.store(NOISE)}, cut)
    old("old_pointer_length", "corrupt", "value", "length -1", lambda w: {"a.raw.bin": w.store(NOISE) | {"length": -1}})
    old("old_pointer_offset", "corrupt", "value", "offset 0.0", lambda w: {"a.raw.bin": w.store(NOISE) | {"offset": 0.0}})
    old("old_pointer_past_end", "truncated", "value", "past the end", lambda w: {"a.raw.bin": w.store(NOISE) | {"offset": 1}})
    old("old_a85_character", "corrupt", "value", "v is not in the alphabet", lambda _: {"a.raw": "vvvvv"})
    old("old_a85_overflow", "corrupt", "value", "a group above 2^32-1", lambda _: {"a.raw": "uuuuu"})
    old("old_a85_z", "corrupt", "value", "z inside a group", lambda _: {"a.raw": "!!z!!"})
    old("old_base64_padding", "corrupt", "value", "padding", lambda _: {"a.raw": "YWJ"}, encoding="b64")
    old("old_hex", "corrupt", "value", "an odd digit", lambda _: {"a.raw": "abc"}, encoding="hex")
    old("old_plain_text", "corrupt", "value", "plain text under a codec", lambda _: {"photo.gz": "hello, world"})
    old("old_npy_zip", "corrupt", "value", "a ZIP as array", lambda w: {"a.npy": w.text(b"PK\x03\x04" + bytes(40))})
    old("old_npy_shape", "corrupt", "value", "a shape that lies", lambda w: {"a.npy": w.text(npy(np.zeros(2)).replace(b"(2,)", b"(9,)"))})
    old("old_int_range", "corrupt", "value", "300 as int8", lambda _: {"a.int8": 300})
    old("old_float_text", "corrupt", "value", "a text that is no number", lambda _: {"a.float64": "many"})
    old("old_chain_long", "limit", "value", "four codecs", lambda w: {"a.raw.gz.gz.gz.gz": w.text(b"x")})
    old("old_row_list", "corrupt", "row", "not an object", lambda _: b"[1]")
    old("old_row_two", "corrupt", "row", "two objects", lambda _: b'{"a":1} {"b":2}')
    old("old_row_deep", "limit", "row", "level 257", lambda _: b'{"a":' + b"[" * 256 + b"]" * 256 + b"}")
    old("old_index_count", "corrupt", "open", "num_samples is not that of the index", none, lambda p: p.write_bytes(p.read_bytes().replace(b'"num_samples":2', b'"num_samples":1')))
    old("old_index_text", "corrupt", "open", "text with a foreign character", none, lambda p: p.write_bytes(p.read_bytes().replace(b'"index.npy":"z', b'"index.npy":"~')))
    old("old_index_sidecar", "mismatch", "open", "the index lies in a file that is missing", none, lambda p: p.with_suffix(".binx").unlink(), binary_threshold=8)
    old("old_index_cut", "truncated", "open", "the index is cut", none, cut, binary_threshold=8)
    old("old_footer_duplicate", "corrupt", "open", "a member twice", none, lambda p: p.write_bytes(p.read_bytes().replace(b'"num_samples":2', b'"num_samples":2,"num_samples":2')))
    old("old_footer_duplicate_pointer", "corrupt", "open", "a member of the index pointer twice", none,
        lambda p: p.write_bytes(p.read_bytes().replace(b'"length":24', b'"length":24,"length":24')), binary_threshold=8)  # fmt: skip
    old("old_encoding", "unsupported", "open", "unknown text encoding", none, encoding="a85", close={"encoding": "b32"})
    old("old_ext_sep_empty", "corrupt", "open", "no separator", none, close={"ext_sep": ""})
    old("old_ext_sep_long", "unsupported", "open", "a separator around a point", none, close={"ext_sep": ".."})
    old("old_blanks", "truncated", "open", "more than 1 KiB of blanks", none, close={"tail": b" " * 1100})
    old("old_garbage", "truncated", "open", "text after the trailer", none, close={"tail": b"the end\n"})
    old("old_crlf", "corrupt", "open", "line ends were translated", none, lambda p: p.write_bytes(p.read_bytes().replace(b"\n", b"\r\n")))


def main() -> None:
    """Makes all files."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    for part in (trailer, footer, index, rows, keys, pointers, payloads, sidecar, folders, version_1_0):
        part()
    names = [entry["name"] for entry in ENTRIES]
    if len(names) != len(set(names)):
        raise ValueError([name for name in names if names.count(name) > 1])
    update("bad/", ENTRIES)


if __name__ == "__main__":
    main()
