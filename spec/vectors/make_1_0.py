"""Makes the good vectors of JINX 1.0: `python spec/vectors/make_1_0.py`."""

import bz2
import gzip
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import zstandard
from tagging import HERE, Lists, tag, update
from write_1_0 import CODECS, TEXT, Writer, npy

OUT = HERE / "1_0"
ENTRIES: list[dict] = []
WORDS = "the quick brown fox jumps over the lazy dog "
NOISE = random.Random(7).randbytes(100)


def vector(name: str, about: str, fill: Callable[[Writer], list], **options: object) -> None:
    """Writes one pair. `fill` writes lines and returns the expected rows, or the keyword arguments of close as well."""
    close = options.pop("close", {})
    writer = Writer(OUT / f"{name}.jinx", **options)
    rows = fill(writer)
    writer.close(**close)
    entry(name, about, f"1_0/{name}.jinx", rows)


def entry(name: str, about: str, path: str, rows: list) -> None:
    """Adds one vector to the list."""
    ENTRIES.append({"name": f"1_0/{name}", "about": about, "path": path, "expect": {"rows": [tag(row) for row in rows]}})


def written(*rows: dict) -> Callable[[Writer], list]:
    """Samples that come back as they are."""

    def fill(writer: Writer) -> list:
        for row in rows:
            writer.write(row)
        return list(rows)

    return fill


def by_hand(make: Callable[[Writer], list[tuple[dict | bytes, dict]]]) -> Callable[[Writer], list]:
    """Pairs of a stored row (or the line's bytes) and the expected row."""

    def fill(writer: Writer) -> list:
        pairs = make(writer)
        for stored, _ in pairs:
            writer.line(stored if isinstance(stored, bytes) else orjson.dumps(stored))
        return [row for _, row in pairs]

    return fill


RICH = {
    "id": 1,
    "text": WORDS * 8,
    "short": "a",
    "blob": NOISE,
    "zeros": bytes(200),
    "array": np.arange(60, dtype="<f4").reshape(3, 4, 5),
    "nested": {"inner": WORDS * 4, "mask": np.array([True, False] * 40), "deep": {"raw": b"\x00\x01" * 50}},
    "messages": [{"role": "user", "body": WORDS * 3}, {"role": "tool", "data": b"xyz" * 30}],
}
ROWS = [RICH, {"id": 2, "text": "", "blob": b""}, {"id": 3, "text": None}]
MANY = [{"n": i} for i in range(12)]


def plain() -> None:
    """Rows that JSON holds by itself."""
    vector("plain", "JSON types, escapes, unicode", written(
        {"none": None, "yes": True, "no": False, "int": -5, "big": 2**63 - 1, "unsigned": 2**64 - 1, "low": -(2**63)},
        {"zero": 0.0, "minus": -0.0, "one": 1.0, "large": 1e16, "small": 1e-7, "tenth": 0.1, "max": 1.7976931348623157e308},
        {"quote\"\\\n\t": "\u0000\u001f\u007f\u20ac\U0001f600", "": "empty name", "$bytes": "not a tag", "list": [], "dict": {}},
        {"nested": {"list": [1, [2.5, [None, {"x": []}]], "s"], "dict": {"k": {"k": {}}}}},
    ))  # fmt: skip
    vector("plain_b64", "the same text encoding everywhere, b64 index", written(*MANY), encoding="b64")
    vector("plain_hex", "hex index: written, but not readable, by 1.0", written(*MANY), encoding="hex")
    vector("empty", "no rows at all: the index is one zero", written())
    vector("empty_rows", "rows without members", written({}, {}))
    digits = "1234567890" * 12
    vector("big_ints", "integers beyond 64 bits stay exact", by_hand(lambda _: [
        (b'{"a":%s,"b":-%s,"c":18446744073709551616}' % (digits.encode(), digits.encode()),
         {"a": int(digits), "b": -int(digits), "c": 2**64}),
        (b'{"limit":' + b"9" * 4300 + b"}", {"limit": 10**4300 - 1}),
    ]))  # fmt: skip
    vector("depth_254", "the deepest row that 1.0 writes", by_hand(lambda _: [
        (b'{"deep":' + b"[" * 253 + b"]" * 253 + b"}", {"deep": Lists(253)})]))  # fmt: skip
    vector("duplicates", "a name twice: the last wins", by_hand(lambda w: [
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'{"a":1,"a.raw":"%s"}' % w.text(b"later").encode(), {"a": b"later"}),
    ]))  # fmt: skip


def inline() -> None:
    """Coded values in the row."""
    for encoding in TEXT:
        vector(f"inline_{encoding}", f"values as {encoding} text", written(*ROWS), encoding=encoding)
    for codec in CODECS:
        vector(f"codec_{codec}", f"everything compressed with {codec}, index too", written(*ROWS, *MANY),
               compression=codec, index_compression=codec)  # fmt: skip
    vector("arrays", "shapes, orders and types of arrays", written({
        "scalar": np.array(5, "<i8"), "empty": np.zeros((0, 3), "<f8"), "bool": np.array([True, False]), "f2": np.ones(3, "<f2"),
        "c8": np.ones(2, "<c8"), "fortran": np.asfortranarray(np.arange(6, dtype="<i4").reshape(2, 3)), "big": np.arange(3, dtype=">i2"),
        "date": np.array(["2024-02-29", "NaT"], "<M8[D]"), "delta": np.array([5], "<m8[ms]"), "text": np.array(["ab", "\u20ac"], "<U2"),
        "ascii": np.array([b"a", b"bc"], "S2"), "u8": np.arange(4, dtype="<u8"), "i1": np.array([-1], "i1"),
    }))  # fmt: skip
    kinds = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    extremes = {name: [np.iinfo(name).min, np.iinfo(name).max] for name in kinds}
    vector("scalars", "numpy scalars under the name of their type", written(
        *({name: np.dtype(name).type(extremes[name][i]) for name in kinds} for i in (0, 1)),
        {"f": np.float32(0.1), "g": np.float32(-0.0), "nested": {"i": np.int8(3)}},
    ))  # fmt: skip
    vector("float_texts", "null and texts under float types; null elsewhere belongs to the name", by_hand(lambda _: [
        ({"a.float32": None, "b.float64": None}, {"a": np.float32("nan"), "b": np.float64("nan")}),
        ({"a.float64": "+inf", "b.float32": "-Infinity", "c.float64": "nan"},
         {"a": np.float64("inf"), "b": np.float32("-inf"), "c": np.float64("nan")}),
        ({"a.float64": 1, "b.float32": 0.1, "v1.x.float64": 2.5}, {"a": np.float64(1), "b": np.float32(0.1), "v1.x": np.float64(2.5)}),
        ({"x.str": None, "y.int8": None, "z.raw.zst": None}, {"x.str": None, "y.int8": None, "z.raw.zst": None}),
    ]))  # fmt: skip
    vector("np_payload", "the np type: dtype text, NUL, item", by_hand(lambda w: [
        ({"half.np": w.text(b"<f2\0" + np.float16(1.5).tobytes()), "flag.np": w.text(b"|b1\0\x01"),
          "day.np": w.text(b"<M8[D]\0" + np.datetime64("2024-02-29", "D").tobytes()), "c.np": w.text(b"<c16\0" + np.complex128(1 + 2j).tobytes()),
          "double.np": w.text(b"<f8\0" + np.float64(0.1).tobytes())},
         {"half": np.float16(1.5), "flag": np.bool_(True), "day": np.datetime64("2024-02-29", "D"), "c": np.complex128(1 + 2j),
          "double": np.float64(0.1)}),
    ]))  # fmt: skip


def chains() -> None:
    """Chains that only a foreign or lucky writer produces."""
    value = {"a": [1, 2.5, None], "b.raw": "inner names are plain"}
    payload = orjson.dumps(value)
    text = (WORDS * 6).encode()
    vector("json_payload", "chains without a type hold JSON, whose names are plain", by_hand(lambda w: [
        ({"x.zst": w.text(CODECS["zst"](payload)), "y.bin": w.store(payload), "z.gz.bin": w.store(gzip.compress(payload)),
          "t.bz2": w.text(bz2.compress(b"[1, 2]"))}, {"x": value, "y": value, "z": value, "t": [1, 2]}),
    ]), binary_threshold=64)  # fmt: skip
    vector("long_chains", "several codecs", by_hand(lambda w: [
        ({"s.str.gz.zst": w.text(CODECS["zst"](gzip.compress(text))),
          "r.raw.br.lz4.xz.bin": w.store(CODECS["xz"](CODECS["lz4"](CODECS["br"](text)))), "p.str": w.text("\u20ac".encode())},
         {"s": text.decode(), "r": text, "p": "\u20ac"}),
    ]))  # fmt: skip
    vector("snappy_empty", "the 1.0 writer's snappy stream of nothing is nothing", by_hand(lambda w: [
        ({"raw.raw.snappy": "", "text.str.snappy": "", "some.raw.snappy": w.text(CODECS["snappy"](b"some"))},
         {"raw": b"", "text": "", "some": b"some"}),
    ]))  # fmt: skip
    vector("type_ends_chain", "a codec left of the type belongs to the name", by_hand(lambda w: [
        ({"x.zst.str": w.text(b"plain"), "raw.zst": w.text(CODECS["zst"](b"7")), ".raw": w.text(b"no name"), "..raw": w.text(b"dot")},
         {"x.zst": "plain", "raw": 7, "": b"no name", ".": b"dot"}),
    ]))  # fmt: skip
    vector("dotted_names", "names that hold the separator", written(
        {"a.b": 1, "v1.0": b"bytes", "v1.0.x": np.arange(3), "model.pt": 5, "a.jpg": "text", "weights.raw": 2.5, "flag.int8": True,
         "list.zst": [1], "map.bin": {"a": {"b.c": 1}}, "n.float16": 1.5, "end.": 1, ".start": 2, "..": 3, "count.v2": np.int16(4)},
    ))  # fmt: skip
    one = zstandard.ZstdCompressor(level=1, write_content_size=True, write_checksum=True)
    skippable = b"\x5a\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"skip"
    vector("zstd_frames", "content size, checksum, several frames, a skippable frame", by_hand(lambda w: [
        ({"a.raw.zst": w.text(skippable + one.compress(text) + one.compress(b"more") + skippable)}, {"a": text + b"more"}),
    ]))  # fmt: skip
    vector("gzip_members", "two members, two streams", by_hand(lambda w: [
        ({"a.raw.gz": w.text(gzip.compress(b"one") + gzip.compress(b"two")), "b.raw.bz2": w.text(bz2.compress(b"1") + bz2.compress(b"2")),
          "c.raw.xz": w.text(CODECS["xz"](b"x") + CODECS["xz"](b"z")), "d.raw.lz4": w.text(CODECS["lz4"](b"l") + CODECS["lz4"](b"4"))},
         {"a": b"onetwo", "b": b"12", "c": b"xz", "d": b"l4"}),
    ]), encoding="b64")  # fmt: skip
    vector("b64_lenient", "characters outside the alphabet are skipped", by_hand(lambda _: [
        ({"a.raw": "aGVs\nbG8 =", "b.raw": "aG-Vs_bG8="}, {"a": b"hello", "b": b"hello"})]), encoding="b64")  # fmt: skip
    vector("a85_forms", "zero words, spaces, short last groups, blanks", by_hand(lambda _: [
        ({"z.raw": "zz", "y.raw": "y", "one.raw": "5l", "blank.raw": "5 l", "empty.raw": ""},
         {"z": bytes(8), "y": b"    ", "one": b"A", "blank": b"A", "empty": b""})]))  # fmt: skip
    vector("hex_case", "either case", by_hand(lambda _: [({"a.raw": "00fF"}, {"a": b"\x00\xff"})]), encoding="hex")


def sidecars() -> None:
    """Values and index next to the main file."""
    vector("sidecar", "values above 64 bytes and the index in the sidecar", written(*ROWS, *MANY), binary_threshold=64)
    vector("sidecar_zst", "the same, compressed first", written(*ROWS, *MANY), binary_threshold=20, compression="zst")
    vector("sidecar_index_inline", "few rows: the index stays in the footer", written(RICH), binary_threshold=32, encoding="b64")
    vector("sidecar_hex", "hex with the index in the sidecar, which 1.0 can read", written(*ROWS), binary_threshold=16, encoding="hex")
    vector("a.b", "the sidecar of a.b.jinx is a.b.binx", written(*ROWS), binary_threshold=16)
    vector("pointer_members", "further members of pointers and of the footer are ignored", by_hand(lambda w: [
        ({"a.raw.bin": {"note": [1], **w.store(b"abc"), "x": "not checked in 1.0"}}, {"a": b"abc"})]),
        close={"unknown": {"a": [1]}, "shard_prev": "/x", "dataset_name": "d", "hash": "h"})  # fmt: skip
    vector("second_name", "a 1.0 pair whose sidecar is being replaced by a 1.1 one", written(RICH), binary_threshold=8)
    sidecar = OUT / "second_name.binx"
    sidecar.rename(OUT / ".second_name.binx.old")
    sidecar.write_bytes(b"\x89BINX\r\n\x1a" + bytes(56))


def tolerated() -> None:
    """What a 1.0 reader lets pass."""
    vector("trailing_blanks", "blanks after the trailer, up to 1 KiB in all", written(*MANY), close={"tail": b" \n\t\r\n" * 150})
    vector("blank_after_rows", "blanks inside the range of a line", by_hand(lambda _: [
        (b'{"a":1}  ', {"a": 1}), (b'{ "b" : [ 1 , 2 ] }\t', {"b": [1, 2]})]))  # fmt: skip
    vector("lines_around", "a line before the first row and one after the last", lines_around)
    vector("few_members", "no encoding, no version, no ext_sep", written(*ROWS), close={"drop": ("encoding", "version", "ext_sep", "shard_id")})
    vector("split", "a file that belongs to a split", written(*MANY), close={"split": "train"})
    vector("two_indexes", "the first member that starts with index. counts", written(*MANY), close={"index.other": "junk"})
    vector("separator_foreign", "another separator, announced in the index key", by_hand(lambda w: [
        ({"a.b": 1, "x~raw": w.text(b"r"), "v.1~str~zst": w.text(CODECS["zst"](b"text")), "n~int8": 3},
         {"a.b": 1, "x": b"r", "v.1": "text", "n": np.int8(3)})]), ext_sep="~", close={"index_key": "index.~npy"})  # fmt: skip
    vector("separator_written", "another separator, in the 1.0 writer's own mixed form", written(RICH, {"a.b": 1, "c~d": b"x"}),
           ext_sep="~", compression="zst", binary_threshold=100)  # fmt: skip


def lines_around(writer: Writer) -> list:
    """`offset[0]` is not 0 and `offset[n]` is not the footer's."""
    writer.main += b'{"a comment":true}\n'
    writer.offsets = [len(writer.main)]
    writer.write({"a": 1})
    writer.write({"a": 2})
    writer.main += b'{"another":null}\n'
    return [{"a": 1}, {"a": 2}]


def folders() -> None:
    """Shards without a manifest, in natural order."""
    numbers = [2, 10, 99999, 100000]
    for number in numbers:
        writer = Writer(OUT / "folder" / f"shard-{number:05d}.jinx", binary_threshold=8)
        writer.write({"shard": number, "raw": b"%d" % number * 5})
        writer.write({"shard": number, "second": True})
        writer.close(shard_id=number, split="train", shard_prev="elsewhere/shard", shard_next="shard")
    (OUT / "folder" / "notes.txt").write_text("not a shard\n")
    rows = [row for n in numbers for row in ({"shard": n, "raw": b"%d" % n * 5}, {"shard": n, "second": True})]
    entry("folder", "shards in natural order, other files ignored", "1_0/folder", rows)


def main() -> None:
    """Makes all files."""
    shutil.rmtree(OUT, ignore_errors=True)
    Path(OUT).mkdir()
    for part in (plain, inline, chains, sidecars, tolerated, folders):
        part()
    update("1_0/", ENTRIES)


if __name__ == "__main__":
    main()
