"""Makes the good vectors of JINX 1.1: `python spec/vectors/make_1_1.py`."""

import bz2
import gzip
import lzma
import random
import shutil
from collections.abc import Callable

import brotli
import lz4.frame
import numpy as np
import orjson
import snappy
from tagging import HERE, Lists, tag, update
from write_1_1 import INTS, Media, Writer, manifest, zst

OUT = HERE / "1_1"
ENTRIES: list[dict] = []
NOISE = random.Random(11).randbytes(150)
WORDS = "the quick brown fox jumps over the lazy dog "
JPEG = b"\xff\xd8\xff\xe0" + NOISE


def vector(name: str, about: str, fill: Callable[[Writer], list | None], *, close: dict | None = None, columns: list | None = None,
           **options: object) -> Writer:  # fmt: skip
    """Writes one pair. `fill` gives the expected rows, or None when they are the samples written."""
    writer = Writer(OUT / f"{name}.jinx", **options)
    rows = fill(writer)
    writer.close(**(close or {}))
    entry(name, about, f"1_1/{name}.jinx", writer.samples if rows is None else rows, columns)
    return writer


def entry(name: str, about: str, path: str, rows: list, columns: list | None = None) -> None:
    """Adds one vector to the list."""
    expect: dict = {"rows": [tag(row) for row in rows]}
    if columns:
        expect["columns"] = [{"path": list(path), "kind": kind, "values": tag(values)} for path, kind, values in columns]
    ENTRIES.append({"name": f"1_1/{name}", "about": about, "path": path, "expect": expect})


def written(*rows: dict) -> Callable[[Writer], None]:
    """Samples that come back as they are."""

    def fill(writer: Writer) -> None:
        for row in rows:
            writer.write(row)

    return fill


def by_hand(make: Callable[[Writer], list[tuple[dict, dict]]], *coded: tuple) -> Callable[[Writer], list]:
    """Stored rows with the expected ones."""

    def fill(writer: Writer) -> list:
        pairs = make(writer)
        for stored, _ in pairs:
            writer.line(orjson.dumps(stored))
        writer.coded(*coded)
        return [row for _, row in pairs]

    return fill


RICH = [
    {"id": 1, "text": WORDS, "small": b"abc", "noise": NOISE, "zeros": bytes(500), "array": np.arange(40, dtype="<f4").reshape(2, 4, 5),
     "tiny": np.array([1, 2], "u1"), "nested": {"deep": {"raw": NOISE, "x": [1, {"y": b"in a list"}]}}, "list": [b"a", NOISE, "s", None, 2.5]},
    {"id": 2, "text": "", "small": None, "list": []},
    {"id": 3, "long": WORDS * 800, "list": [{"a": b""}, [b"nested", [np.int8(3)]]]},
]  # fmt: skip


def plain() -> None:
    """Rows that JSON holds, and names."""
    vector("plain", "JSON types, escapes, no sidecar", written(
        {"none": None, "yes": True, "no": False, "int": -5, "max": 2**63 - 1, "unsigned": 2**64 - 1, "beyond": 2**64, "huge": -(10**400)},
        {"zero": 0.0, "minus": -0.0, "one": 1.0, "large": 1e16, "small": 1e-7, "tenth": 0.1, "denormal": 5e-324},
        {"q\"\\\n": "\u0000\u001f\u007f\u20ac\U0001f600/", "": "empty name", "$bytes": 1, "list": [], "dict": {}},
    ), columns=None)  # fmt: skip
    vector("empty", "no rows, no sidecar", written())
    vector("empty_rows", "rows without members", written({}, {}))
    vector("names", "quoted names, with and without chains, at every level", written(
        {"model.pt": 1, "a.": 2, ".": 3, "..": 4, ".a": 5, "a..b": 6, "...": 7, "x.raw": "text", "x.zst.bin": {"offset": 1, "length": 2}},
        {"model.pt": b"bytes", "a.": NOISE, ".": np.int8(1), "a..b": float("nan"), "v1.0": {"b.c": [{"d.e": b"x"}, {"f.g": 1}]}},
        {"": b"coded", "raw": b"raw", "bin": 1, "nested": {"": NOISE, "dotted.only": True}},
    ))  # fmt: skip
    vector("lists", "elements that need a chain; objects that only look like it", written(
        {"l": [b"x", NOISE, np.arange(3), np.float32(0.5), float("inf"), np.float16(2), [b"y"], {"k": b"z"}, {"": 1}, {"": b"e"}, {"a.b": 1}]}))
    vector("depth_256", "the deepest row: the row is level 1", by_hand(lambda _: [
        ({"deep": orjson.Fragment("[" * 255 + "]" * 255)}, {"deep": Lists(255)})]))  # fmt: skip
    vector("digits_4300", "the longest integers", written({"a": 10**4300 - 1, "b": [1 - 10**4300]}))


def scalars() -> None:
    """Numbers that are not JSON's."""
    vector("scalars", "numpy scalars under the name of their type", written(
        *({name: np.dtype(code).type(getattr(np.iinfo(code), end)) for name, code in INTS.items()} for end in ("min", "max")),
        {"f": np.float32(0.1), "g": np.float32("nan"), "h": np.float32("inf"), "i": np.float32("-inf"), "j": np.float32(-0.0)},
    ))  # fmt: skip
    vector("non_finite", "Python floats that JSON has no text for", written(
        {"a": float("nan"), "b": float("inf"), "c": float("-inf"), "d": [1.0, float("nan"), [float("inf")]], "e": {"f": float("-inf")}}))
    vector("np", "other numpy scalars", written({
        "f8": np.float64(0.1), "nan": np.float64("nan"), "f2": np.float16(1.5), "b": np.bool_(True), "c": np.complex64(1 + 2j),
        "day": np.datetime64("2024-02-29", "D"), "nat": np.datetime64("NaT", "ns"), "delta": np.timedelta64(5, "ms")}))  # fmt: skip
    vector("arrays", "shapes, orders and types of arrays", written({
        "scalar": np.array(5, "<i8"), "empty": np.zeros((0, 3), "<f8"), "bool": np.array([True, False]), "f2": np.ones(3, "<f2"),
        "fortran": np.asfortranarray(np.arange(60, dtype="<i4").reshape(3, 20)), "big": np.arange(3, dtype=">i2"),
        "date": np.array(["2024-02-29", "NaT"], "<M8[D]"), "text": np.array(["ab", "\u20ac"], "<U2"), "ascii": np.array([b"a"], "S2"),
        "large": np.zeros((64, 64), "<f8"), "c16": np.ones(2, "<c16")}))  # fmt: skip


def places() -> None:
    """Where values lie."""
    vector("sidecar", "small values inline, large ones and a long text in the sidecar", written(*RICH))
    vector("inline", "the same without a sidecar", written(*RICH), sidecar=False)
    vector("inline_a85", "another text encoding", written(*RICH[:2]), sidecar=False, encoding="a85")
    vector("inline_hex", "another text encoding", written(*RICH[:2]), sidecar=False, encoding="hex")
    vector("arrays_in_sidecar", "index, hashes and columns by pointer", lambda w: [w.write(row) for row in RICH] and w.column(("id",)),
           pointers=True, columns=[(("id",), "value", [1, 2, 3])])  # fmt: skip
    vector("chunks", "index, hashes and columns in chunks of 8 bytes, the last chunk of a column shorter", lambda w: [w.write({"id": i, "t": "a" * i}) for i in range(13)] and
           ([w.column(("id",)), w.column(("t",)), w.column(("t",), "length")] and None), pointers=True, chunk=8,
           columns=[(("id",), "value", [*range(13)]), (("t",), "value", ["a" * i for i in range(13)]), (("t",), "length", [*range(13)])])  # fmt: skip
    vector("only_arrays", "a sidecar without values", written({"a": 1}, {"a": 2}), pointers=True)
    vector("threshold", "64 bytes are inline, 65 are not", written({"a": bytes(range(64)), "b": bytes(range(65))}))
    vector("a.b", "the sidecar of a.b.jinx is a.b.binx", written(*RICH))
    renamed = vector("renamed", "the sidecar has the name that the footer gives", written(*RICH), close={"sidecar_name": "renamed-data.binx"})
    renamed.path.with_suffix(".binx").rename(OUT / "renamed-data.binx")
    foreign = Writer(OUT / "second_name.jinx")
    written({"other": NOISE * 2})(foreign)
    foreign.close()
    other = (OUT / "second_name.binx").read_bytes()
    old = Writer(OUT / "second_name.jinx")
    written(*RICH)(old)
    footer = old.close()
    (OUT / "second_name.binx").rename(OUT / f".second_name.binx.{footer['id']}")
    (OUT / "second_name.binx").write_bytes(other)
    entry("second_name", "a replacement in progress: the sidecar is under its second name", "1_1/second_name.jinx", RICH)
    vector("newer", "a later minor version with members we do not know", written(*RICH), close={
        "future": {"index.x": [1]}, "edit": lambda footer: footer | {"version": "1.7"}})  # fmt: skip
    vector("meta", "the user's own footer members, and a split", written({"a": 1}), close={"meta": {"who": ["me", 1.5]}, "split": "train"})
    vector("orphan", "sidecar is null: the file next to it is not opened", written({"a": 1}))
    (OUT / "orphan.binx").write_bytes(b"not ours")


def chains() -> None:
    """Chains that our writer does not produce and every reader understands."""
    text = (WORDS * 5).encode()
    framed = snappy.StreamCompressor()
    packed = {"gz": gzip.compress(text, mtime=0), "br": brotli.compress(text), "bz2": bz2.compress(text), "lz4": lz4.frame.compress(text),
              "lzma": lzma.compress(text), "xz": lzma.compress(text), "snappy": framed.compress(text) + framed.flush(), "zst": zst(text)}  # fmt: skip
    vector("codecs", "every codec, inline and in the sidecar", by_hand(lambda w: [
        ({f"{c}-t.str.{c}": w.text(d) for c, d in packed.items()} | {f"{c}-s.raw.{c}.bin": w.store(d) for c, d in packed.items()},
         {f"{c}-t": text.decode() for c in packed} | {f"{c}-s": text for c in packed})], *[(f"{c}-{k}",) for c in packed for k in "ts"]))
    value = {"a": [1, None], "b.raw": "plain"}
    payload = orjson.dumps(value)
    vector("chains", "JSON payloads, several codecs, nested and in lists", by_hand(lambda w: [
        ({"x.zst": w.text(zst(payload)), "y.bin": w.store(payload), "s.str": w.text(b"short"), "q.r..str.gz.zst.": w.text(zst(packed["gz"])),
          "l": [{"..str.bin.": w.store(text)}, {"..zst.": w.text(zst(b"7"))}, {"..raw.gz.zst.bz2.bin.": w.store(bz2.compress(zst(packed["gz"])))}],
          "d": {"e.float64": 1.5, "f.str.br.bin": w.store(packed["br"])}},
         {"x": value, "y": value, "s": "short", "q.r": text.decode(), "l": [text.decode(), 7, text], "d": {"e": 1.5, "f": text.decode()}}),
    ], ("x",), ("y",), ("s",), ("q.r",), ("l", None), ("d", "e"), ("d", "f")))  # fmt: skip
    vector("pointers", "extra members, shared ranges, length 0, any order", by_hand(lambda w: [(
        {"a.raw.bin": {"note": {"k.raw": 1}, **w.store(b"shared")}, "b.raw.bin": {**w.store(b""), "path": None},
         "c.str.bin": {"x": "d4d1edf3a4dcb5a7", "length": 6, "offset": 64} | {"x": w.store(b"shared")["x"]}},
        {"a": b"shared", "b": b"", "c": "shared"})], ("a",), ("b",), ("c",)))  # fmt: skip


def media() -> None:
    """Hugging Face media."""
    paths = {("image",): "Image", ("images", None): "Image", ("doc", "audio"): "Audio"}
    samples = [
        {"image": Media(JPEG, "a.jpg"), "images": [Media(JPEG, "b.jpg"), Media(b"\xff\xd8\xff", "c.jpg"), None], "doc": {"audio": Media(JPEG, None)}},
        {"image": Media(b"\xff\xd8\xffsmall", None), "images": [Media(None, "d.jpg")], "doc": {"audio": None}},
        {"image": Media(None, "e.jpg"), "images": [], "doc": None},
        {"image": None, "images": None},
    ]
    rows = [
        {"image": JPEG, "images": [JPEG, b"\xff\xd8\xff", None], "doc": {"audio": JPEG}},
        {"image": b"\xff\xd8\xffsmall", "images": [{"bytes": None, "path": "d.jpg"}], "doc": {"audio": None}},
        {"image": {"bytes": None, "path": "e.jpg"}, "images": [], "doc": None},
        {"image": None, "images": None},
    ]

    def fill(writer: Writer) -> list:
        written(*samples)(writer)
        return rows

    vector("media", "bytes come back wherever they lie", fill, media=paths)
    vector("media_inline", "the same without a sidecar", fill, media=paths, sidecar=False)
    vector("media_unmarked", "without a mark the struct stays a dict", written({"image": {"bytes": b"x", "path": "a"}, "l": [{"bytes": NOISE, "path": "b"}]}))


def columns() -> None:
    """Columns of every type."""
    rows: list[dict] = [
        {"b": True, "i8": -1, "u8": 200, "i16": -129, "u16": 40000, "i32": -(2**20), "u32": 2**32 - 1, "i64": -(2**40), "u64": 2**64 - 1,
         "f": 0.5, "s": "h\u00e9", "l": [1, 2, 3], "n": {"score": 7}, "t": "\u20ac\U0001f600x", "some": 5, "maybe": None, "mixed.name": 1},
        {"b": False, "i8": 127, "u8": 0, "i16": 0, "u16": 0, "i32": 1, "u32": 0, "i64": 2, "u64": 0, "f": -0.0, "s": "", "l": [],
         "n": {"score": 8}, "t": "", "maybe": True, "mixed.name": 2},
        {"b": True, "i8": 0, "u8": 1, "i16": 1, "u16": 1, "i32": 1, "u32": 1, "i64": 1, "u64": 1, "f": 1e300, "s": "z", "l": [None],
         "n": {"score": 9}, "t": "ab", "some": None, "maybe": False, "mixed.name": 3},
    ] * 3  # fmt: skip
    wanted = [((name,), "value") for name in ("b", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f", "s")]
    wanted += [(("l",), "length"), (("n", "score"), "value"), (("t",), "length"), (("some",), "value"), (("maybe",), "value"), (("mixed.name",), "value")]
    values = []
    for path, kind in wanted:
        column = [row.get(path[0]) for row in rows]
        column = [cell["score"] for cell in column] if len(path) == 2 else column
        values.append((path, kind, [len(cell) for cell in column] if kind == "length" else column))

    def fill(writer: Writer) -> None:
        written(*rows)(writer)
        for path, kind in wanted:
            writer.column(path, kind)

    vector("columns", "every type, with and without validity, inline", fill, columns=values)
    vector("columns_sidecar", "the same in the sidecar", fill, columns=values, pointers=True)


def folders() -> None:
    """A directory with a manifest."""
    shards, rows = [], []
    for number in (1, 0):
        name = f"shard-{number:05d}.jinx"
        writer = Writer(OUT / "folder" / name)
        samples = [{"shard": number, "data": NOISE}, {"shard": number, "data": b"small"}]
        written(*samples)(writer)
        shards.append((name, writer.close(shard_id=number)))
        rows += samples
    stray = Writer(OUT / "folder" / "shard-00002.jinx")
    written({"stray": True})(stray)
    stray.close()
    manifest(OUT / "folder", shards)
    entry("folder", "the manifest gives shards and order; a stray shard is ignored", "1_1/folder", rows)
    (OUT / "folder_empty").mkdir()
    manifest(OUT / "folder_empty", [])
    entry("folder_empty", "a manifest without shards", "1_1/folder_empty", [])
    single = Writer(OUT / "folder_bare" / "shard-00000.jinx")
    written(*RICH)(single)
    single.close(shard_id=0)
    entry("folder_bare", "1.1 shards without a manifest", "1_1/folder_bare", RICH)


def main() -> None:
    """Makes all files."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    for part in (plain, scalars, places, chains, media, columns, folders):
        part()
    update("1_1/", ENTRIES)


if __name__ == "__main__":
    main()
