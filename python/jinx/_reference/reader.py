"""A complete reader of JINX 1.0 and 1.1 in plain Python, written only from the pages of spec/.

It is slow, holds files in memory and makes every check of level "full". Without the library you need only this
file, `typed_columns.py` and the packages they import: `open_pairs(path)[0][i]` is a sample, of a saved view too.
Comments name the page that the code follows.
"""

import io
import json
import re
import struct
from base64 import a85decode, b16decode, b64decode
from bz2 import BZ2Decompressor
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from importlib import import_module
from lzma import LZMADecompressor
from os import fsdecode
from os.path import normpath
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes
from zlib import decompressobj

import brotli
import cramjam
import numpy as np
from lz4.frame import LZ4FrameDecompressor
from numpy.lib.format import dtype_to_descr, read_array
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest, xxh3_128_hexdigest
from zstandard import CONTENTSIZE_UNKNOWN, ZstdDecompressor, get_frame_parameters

typed_columns: Any = import_module(f"{__package__}.typed_columns" if __package__ else "typed_columns")
INTS, OWN_ONLY = typed_columns.INTS, typed_columns.OWN_ONLY
MAX_VALUE, MAX_WINDOW, MAX_DEPTH, MAX_CODECS = 2 << 30, 1 << 27, 256, 3  # limits.md
MAX_BASES, MAX_PATH = 300_000, 4096
SIDECAR_MAGIC, SNAPPY_MAGIC, ZSTD_MAGIC = b"\x89BINX\r\n\x1a", b"\xff\x06\x00\x00sNaPpY", b"\x28\xb5\x2f\xfd"
FLOATS = ["float32", "float64"]
FLOAT, NUMBER, CODEC = "|".join(FLOATS), "|".join(INTS + FLOATS), "(?:zst|gz|br|bz2|lz4|lzma|xz|snappy)"
PAYLOAD = rf"(?:str|raw|npy|np|pt|{CODEC})(?:\.{CODEC})*"
CHAINS = {str: f"{PAYLOAD}|{FLOAT}", dict: rf"(?:{PAYLOAD}\.)?bin", int: NUMBER, float: NUMBER, type(None): FLOAT}
NUMPY_TYPE = r"[<>|=]?(b1|[iu][1248]|f[248]|c8|c16|[Mm]8(\[\d*[A-Za-z]+\])?|[SU]\d+)"  # values.md, section 7
EVIL_SIGN = r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]"  # limits.md
EVIL_NAME = EVIL_SIGN + r"|[/\\]|\A[A-Za-z]:|\A\s|[\s.]\Z"
HASH, MARKERS = "[0-9a-f]{32}", ("$bytes", "$npy", "$np", "$pt", "$float", "$dict")
TEXTS = {"a85": partial(a85decode, foldspaces=True), "hex": partial(b16decode, casefold=True), "b64": b64decode}
STREAMS = {"bz2": BZ2Decompressor, "lz4": LZ4FrameDecompressor, "xz": LZMADecompressor, "lzma": LZMADecompressor}
STREAMS |= {"gz": partial(decompressobj, wbits=31), "zst": ZstdDecompressor(max_window_size=1 << 31).decompressobj}


# fmt: off
class JinxError(Exception): ...           # the subclasses are the error causes of jinx.md, section 6
class CorruptFileError(JinxError): ...    # bytes that no writer produces, or a hash that does not match
class TruncatedFileError(JinxError): ...  # a file, a range or a stream that ends early
class LimitError(JinxError): ...          # more than limits.md allows
class UnsupportedError(JinxError): ...    # valid, but not supported by this reader
class MismatchError(JinxError): ...       # files that do not belong together, or a missing one
# fmt: on


def need(condition: object, what: str, error: type[JinxError] = CorruptFileError) -> None:
    if not condition:
        raise error(what)


@contextmanager
def failures_mean_damage():
    try:
        yield
    except (JinxError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # every package raises its own classes
        raise CorruptFileError(repr(error)) from error


def take(table: object, **kinds: type) -> list:  # rejects negative integers and evil file names (limits.md)
    for name, kind in kinds.items():
        value = table.get(name) if isinstance(table, dict) else None
        need(type(value) is kind and (kind is not int or value >= 0), f"{name} is missing or not a good {kind}")
        need(name != "name" or (0 < len(value.encode()) < 256 and not re.search(EVIL_NAME, value)), "evil file name")
    return [table[name] for name in kinds]


def parse(data: bytes, *, unique: bool, max_depth: int = MAX_DEPTH, error: type[JinxError] = LimitError) -> object:
    def members(pairs: list) -> dict:
        need(not unique or len(dict(pairs)) == len(pairs), "a name occurs twice")
        return dict(pairs)

    bare = re.sub(rb'"(?:[^"\\]|\\.)*"', b"", data)
    depths = np.cumsum([1 if bracket in b"[{" else -1 for bracket in re.findall(rb"[\[\]{}]", bare)])
    need(max(depths, default=0) <= max_depth, "nesting too deep", error)
    need(not re.search(rb"(?:^|[\s:,\[])-?\d{4301,}(?![\d.eE])", bare), "integer too long", error)
    value = json.loads(data.decode(), object_pairs_hook=members)  # values.md, section 9
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # fails for NaN, infinity and lone surrogates
    return value


def parse_table(data: bytes, *supported: str) -> tuple[dict, bool]:  # and whether it is 1.1 (versions.md, checksums.md)
    table = parse(data, unique=True, max_depth=128, error=CorruptFileError)
    version = re.fullmatch("([0-9]+)[.]([0-9]+)", table.get("version", "1.0"))
    need(version, "malformed version")
    need(version[1] == "1", "unknown major version", UnsupportedError)
    new, digest = int(version[2]) > 0, re.search(rb',"digest":"([0-9a-f]{16})"}\Z', data)
    need(xxh3_64_hexdigest(data[: digest.start()]).encode() == digest[1] if digest else not new, "no or wrong digest")
    features = take(table, features_required=list)[0] if new else []
    unknown = [feature for feature in features if feature not in supported]
    need(not unknown, f"unknown required feature {', '.join(map(str, unknown))}", UnsupportedError)
    return table, new


def unpack(codec: str, data: bytes) -> bytes:  # values.md, section 6
    need(data, f"empty {codec} stream", TruncatedFileError)
    out, at, end = bytearray(), 0, len(data)
    if codec == "br":
        stream = brotli.Decompressor()
        out = stream.process(data, output_buffer_limit=MAX_VALUE)
        need(stream.is_finished(), "br stream", TruncatedFileError if stream.can_accept_more_data() else LimitError)
    elif codec == "snappy":
        while at < end:  # a chunk is a type byte, a three-byte length, and the content
            at += 4 + int.from_bytes(data[at + 1 : at + 4], "little")
        need(SNAPPY_MAGIC.startswith(data[:10]), "no snappy stream")
        need(at == end, "snappy stream is cut", TruncatedFileError)
        out = cramjam.snappy.decompress(data)
    while codec in STREAMS and at < end:  # streams may follow each other
        if codec == "zst" and data[at : at + 4] == ZSTD_MAGIC:
            frame = get_frame_parameters(data[at : at + 18])
            size = frame.content_size % CONTENTSIZE_UNKNOWN  # 0 if the size is unknown
            need(frame.dict_id == 0, "zstd dictionary", UnsupportedError)
            need(size <= MAX_VALUE and (data[at + 4] & 32 or frame.window_size <= MAX_WINDOW), "zstd frame", LimitError)
        stream = STREAMS[codec]()
        while at < end and not stream.eof:
            out += stream.decompress(data[at : at + 4096])
            at = min(at + 4096, end)
            need(len(out) <= MAX_VALUE, "value too large", LimitError)
        need(stream.eof, f"{codec} stream is cut", TruncatedFileError)
        at -= len(stream.unused_data or b"")
    return bytes(out)


def numpy_value(kind: str, data: bytes) -> np.ndarray | np.generic:  # values.md, sections 2 and 7
    stream, (text, _, item) = io.BytesIO(data), data.partition(b"\0")
    array = read_array(stream, allow_pickle=False) if kind == "npy" else np.frombuffer(item, text.decode("ascii"))
    dtype = dtype_to_descr(array.dtype) if kind == "npy" else text.decode("ascii")
    need(not isinstance(dtype, list), "structured dtype", UnsupportedError)
    need(re.fullmatch(NUMPY_TYPE, dtype), f"dtype {dtype}")
    need(stream.tell() == len(data) if kind == "npy" else len(array) == 1, "bytes after the array or scalar")
    return array if kind == "npy" else array[0]


class Pair:  # main file and sidecar; `pair[i]` is a sample, or the own columns of a view's sample
    def __init__(self, path: Path) -> None:  # jinx.md, sections 2 to 4
        self.path, self.data, self.media, self.identity = path, path.read_bytes(), set(), None
        trailer = re.compile(rb"(?:\A|\n)([0-9]{1,20})[ \t\r\n]*\Z").search(self.data, max(0, len(self.data) - 1024))
        need(trailer, "no trailer", TruncatedFileError)
        end = int(trailer[1])
        footer = self.data[end : trailer.start(1)].rstrip(b" \t\r\n")
        need(footer[:1] == b"{", "no footer at the footer offset")
        self.footer, self.new = table, new = parse_table(footer, "view", "own_columns")
        self.is_view = new and "view" in table["features_required"]
        need(self.is_view or not new or not table["features_required"], "own columns without a view")
        defaults = {} if new else {"ext_sep": ".", "encoding": "a85"}
        self.samples, sep, encoding = take(defaults | table, num_samples=int, ext_sep=str, encoding=str)
        [self.count] = take(table, rows=int) if self.is_view else [self.samples]  # views.md, section 1
        need(self.count in (0, self.samples), "rows")
        need(encoding in TEXTS and (sep == "." or not (new or "." in sep)), "encoding or ext_sep", UnsupportedError)
        self.from_text = partial(b64decode, validate=True) if new and encoding == "b64" else TEXTS[encoding]
        if new:
            around = self.data[:end][-1:], self.data[end:]
            need(around[0] in (b"", b"\n") and around[1] == footer + b"\n%d\n" % end, "bytes around the footer")
            self.id, _, hashes, fields = take(table, id=str, columns=list, line_hash=dict, fields=list)
            need(re.fullmatch(HASH, self.id), "malformed id")
            self.identity = [self.samples, len(self.data), self.id, len(self.sidecar or b"")]
            self.hashes = self._array(hashes, "<u8")
            self.media = {tuple(field["path"]) for field in fields if "media" in field}
        else:
            self.id = xxh3_128_hexdigest(self.data[end:])  # views.md, section 2
        key = next((key for key in table if key.startswith("index.")), "")
        need(key and sep, "no index, or an empty ext_sep")
        joint = sep if sep in key else "."  # separates the name from the chain
        self.sep, self.joint, chain = sep, re.escape(joint), key.split(joint)[1:]
        need(not self.is_view or chain[-1:] == ["view"], "the index of a view under another key")
        chain = chain[: len(chain) - self.is_view]
        need(re.fullmatch(rf"npy(\.bin|(\.{CODEC})*)", ".".join(chain)), "unknown form of index", UnsupportedError)
        raw = self._array(table[key], "u1") if new and chain[-1] == "bin" else self._payload(table[key], chain)
        self.offsets = offsets = np.frombuffer(bytes(raw), "<u8").tolist()
        if self.is_view and self.count == 0:
            need(not offsets and not self.hashes and end == 0, "lines in a view without rows")
            return
        need(offsets == sorted(set(offsets)) and len(offsets) == self.count + 1 and offsets[-1] <= end, "index")
        need(not new or (offsets[0], offsets[-1], len(self.hashes)) == (0, end, self.count), "ends of the index")

    @cached_property
    def sidecar(self) -> bytes | None:  # binx.md, sections 2 to 4
        near, hidden = self.path.with_suffix(".binx"), f".{self.path.stem}.binx."
        if not self.new:
            need(near.exists(), f"{near} is missing", MismatchError)
            old = near.with_name(f"{hidden}old")
            return (old if old.exists() and near.read_bytes()[:8] == SIDECAR_MAGIC else near).read_bytes()
        if self.footer["sidecar"] is None:
            return None
        name, length = take(self.footer["sidecar"], name=str, length=int)
        candidates = [
            p.read_bytes() for p in (near, near.with_name(name), near.with_name(hidden + self.id)) if p.exists()
        ]
        need(candidates, f"sidecar {name} is missing", MismatchError)
        data = next((data for data in candidates if data[16:32].hex() == self.id), candidates[0])
        need(len(data) >= 64, "sidecar header is cut", TruncatedFileError)
        magic, major, _, flags, data_id, values_end, _, digest = struct.unpack("<8sHHI16sQ16sQ", data[:64])
        need(magic == SIDECAR_MAGIC and digest == xxh3_64_intdigest(data[:56]), "sidecar header")
        need(major == 1 and flags == 0, "sidecar version or flags", UnsupportedError)
        need(data_id.hex() == self.id, "sidecar of another main file", MismatchError)
        need(64 <= values_end <= len(data) >= length, "sidecar is cut", TruncatedFileError)
        need(len(data) == length, "sidecar is too long")
        return data

    def _pointed(self, pointer: dict) -> bytes:  # values.md, section 2
        offset, length = take(pointer, offset=int, length=int)
        [x] = take(pointer, x=str) if self.new else [None]
        need(not self.new or (offset >= 64 and re.fullmatch("[0-9a-f]{16}", x)), "pointer")
        need(self.sidecar is not None, "pointer without a sidecar", MismatchError)
        need(offset + length <= len(self.sidecar), "pointer past the end", TruncatedFileError)
        data = self.sidecar[offset : offset + length]
        need(x in (None, xxh3_64_hexdigest(data)), "hash of a value")
        return data

    def _array(self, entry: dict, dtype: str) -> list:  # jinx.md, section 5
        pointed = "offset" in entry
        data = self._pointed(entry) if pointed else unpack("zst", b64decode(entry["data"], validate=True))
        need(len(data) == entry["length"] and xxh3_64_hexdigest(data) == entry["x"], "length or hash of an array")
        if pointed:
            self._compare_chunks(entry, data)
        return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).tolist()

    def _compare_chunks(self, entry: dict, data: bytes) -> None:  # jinx.md, section 5
        if entry.get("chunk") is None and entry.get("xs") is None:
            return
        chunk, xs = take(entry, chunk=int, xs=dict)
        need("offset" not in xs and chunk and chunk % 8 == 0 and chunk < len(data), "chunk, or xs that is a pointer")
        sums = [xxh3_64_intdigest(data[at : at + chunk]) for at in range(0, len(data), chunk)]
        need(self._array(xs, "<u8") == sums, "hash of a chunk")

    def _payload(self, value: object, chain: list[str]) -> bytes:
        data = self._pointed(value) if chain[-1] == "bin" else self.from_text(value)
        codecs = [part for part in chain if re.fullmatch(CODEC, part)]
        need(len(codecs) <= MAX_CODECS, "too many codecs", LimitError)
        for codec in reversed(codecs):
            data = unpack(codec, data) if data or self.new or codec != "snappy" else b""
        return data

    def _split(self, key: str, value: object) -> tuple[str, list[str], bool]:  # values.md, sections 3 and 5
        chains = CHAINS.get(type(value), "(?!)").replace(r"\.", re.escape(self.sep))
        if self.new:
            quoted = key.endswith(".")
            name, dot, chain = key[:-1].rpartition("..") if quoted else key.partition(".")
            fits = not chain or re.fullmatch(chains, chain)
            need((dot or not quoted) and fits, f"key {key!r} is malformed or its chain does not fit the value")
            return name, chain.split(".") if chain else [], quoted
        match = re.fullmatch(f"(?s)(.*?){self.joint}({chains})", key)
        if not match or (isinstance(value, dict) and not {"offset", "length"} <= value.keys()):
            return key, [], False
        return match[1], match[2].split(self.sep), False

    def _decode(self, value: object, chain: list[str]) -> object:  # values.md, section 2
        kind = chain[0]
        if kind in INTS + FLOATS:
            need(kind in FLOATS or type(value) is int, f"not an {kind}")
            need(not isinstance(value, str) or re.fullmatch("(?i)[+-]?(inf|infinity|nan)", value), f"not a {kind}")
            number = value if kind in INTS else float("nan" if value is None else value)
            return number if self.new and kind == "float64" else np.dtype(kind).type(number)
        data = self._payload(value, chain)
        need(kind != "pt", "tensors need PyTorch", UnsupportedError)
        if kind in ("npy", "np"):
            return numpy_value(kind, data)
        return data if kind == "raw" else data.decode() if kind == "str" else parse(data, unique=self.new)

    def _tree(self, value: object, path: tuple) -> object:  # for `path`, see columns.md, section 2
        if isinstance(value, list):
            return [self._tree(item, (*path, None)) for item in value]
        if not isinstance(value, dict):
            return value
        result = {}
        for key, item in value.items():
            name, chain, quoted = self._split(key, item)
            if quoted and not name:  # a list element that needs a chain
                need(chain and path[-1:] == (None,) and len(value) == 1, "misplaced wrapper")
                return self._decode(item, chain)
            need(not self.new or name not in result, f"name {name!r} occurs twice")
            result[name] = self._decode(item, chain) if chain else self._tree(item, (*path, name))
        media = path in self.media and result.keys() == {"bytes", "path"} and isinstance(result["bytes"], bytes)
        return result["bytes"] if media else result

    def __getitem__(self, i: int) -> dict:  # jinx.md, section 1
        line = self.data[self.offsets[i] : self.offsets[i + 1]]
        with failures_mean_damage():
            need(not self.new or xxh3_64_intdigest(line) == self.hashes[i], f"hash of line {i}")
            need(not self.new or line.endswith(b"\n"), f"line {i} has no end")
            need(line.lstrip(b" \t\r\n")[:1] == b"{", f"line {i} is not an object")
            return self._tree(parse(line, unique=self.new), ())

    @failures_mean_damage()
    def column(self, entry: dict) -> list:  # columns.md, section 1
        need(
            entry["dtype"] in [*INTS, "bool", "float64", "utf8"] and not entry.keys() & OWN_ONLY,
            "dtype of a column",
        )
        return self.cells(entry, self.count)

    def cells(self, entry: dict, count: int) -> list:
        values = typed_columns.values_of(entry, count, self._array, need)
        if "validity" in entry:
            bits = np.unpackbits(np.array(self._array(entry["validity"], "u1"), "u1"), bitorder="little")
            need(len(bits) == -(-count // 8) * 8 and not bits[count:].any(), "validity of a column")
            values = [value if bit else None for value, bit in zip(values, bits[:count], strict=True)]
        need(len(values) == entry["rows"] == count, "rows of a column")
        return values


def unmarked(value: object) -> object:  # exports.md, section 2
    if isinstance(value, list):
        return [unmarked(item) for item in value]
    if not isinstance(value, dict):
        return value
    name, content = next(iter(value.items()), (None, None))
    if name not in MARKERS:
        return {name: unmarked(item) for name, item in value.items()}
    path = value.get("path") if name == "$bytes" else None
    need(len(value) == 1 or (list(value) == ["$bytes", "path"] and (path is None or isinstance(path, str))), "marker")
    if name == "$dict":
        return {name: unmarked(item) for name, item in content.items()}
    if name == "$float":
        need(content in ("nan", "inf", "-inf"), "marker of a float")
        return float(content)
    need(name != "$pt", "tensors need PyTorch", UnsupportedError)
    data = b64decode(content, validate=True)
    return data if name == "$bytes" else numpy_value(name[1:], data)


class Lines:  # plain JSON lines that a view shows; `lines[i]` is a sample
    def __init__(self, data: bytes, offsets: list[int], *, markers: bool) -> None:
        self.data, self.offsets, self.markers, self.count = data, offsets, markers, len(offsets) - 1

    @failures_mean_damage()
    def __getitem__(self, i: int) -> dict:  # exports.md, section 1
        row = parse(self.data[self.offsets[i] : self.offsets[i + 1]], unique=True)
        need(isinstance(row, dict), f"line {i} is not an object")
        says_so = next(iter(row), None) == "$jinx" and type(row["$jinx"]) is int and row["$jinx"] == 1
        members = {name: item for name, item in row.items() if not (says_so and name == "$jinx")}
        if not says_so and not self.markers:
            return row
        whole = members["$dict"] if list(members) == ["$dict"] else members
        return {name: unmarked(item) for name, item in whole.items()}


def local_path(url: str) -> Path | None:  # views.md, section 2; None if the URL is not a file
    parts = re.fullmatch(r"([a-z][a-z0-9+.-]*)://([^/?#@\\\s]*)((?:/[^?#\\\s]*)?)", url)
    need(parts, "malformed location")
    scheme, host, path = parts.groups()
    need(not re.search("%(?![0-9A-Fa-f]{2})|%00", path) and not {".", ".."} & {*path.split("/")}, "path of a location")
    need((scheme == "file") != bool(host) and (host or len(path) > 1), "host of a location")
    need(scheme in ("s3", "gs", "az", "https", "hf", "file"), "unknown scheme", UnsupportedError)
    return Path(fsdecode(unquote_to_bytes(path))) if scheme == "file" else None


class View:  # views.md; `view[i]` is a sample
    def __init__(self, own: Pair) -> None:
        self.own, self.footer, self.column, self.count = own, own.footer, own.column, own.samples
        entries, drop, typed = take({"drop": [], "own": []} | own.footer, base=list, drop=list, own=list)
        need(entries and all(isinstance(name, str) for name in drop) and len(set(drop)) == len(drop), "base or drop")
        self.names = {field["path"][0] for field in own.footer["fields"]}
        need(bool(typed) == ("own_columns" in own.footer["features_required"]) == ("own" in own.footer), "own")
        self.typed = {entry["path"][0]: self._typed(entry) for entry in typed}
        need(len({*self.names, *self.typed}) == len(self.names) + len(typed), "an own column twice")
        self.hidden = {*drop, *self.names, *self.typed}
        need(len(entries) <= MAX_BASES, "too many bases", LimitError)
        samples = [self._check(entry) for entry in entries]
        has = "positions" in own.footer
        need(sum(samples) < 2**64 and (has or sum(samples) == self.count), "num_samples, or more than 64 bits count")
        self.positions = own._array(own.footer["positions"], "<u8") if has else range(self.count)
        need(len(self.positions) == self.count, "length of positions")
        self.parts = [(part, i) for entry in entries for part in self._base(entry) for i in range(part.count)]

    def _typed(self, entry: dict) -> list:  # views.md, section 7
        need(self.count, "own column")
        typed_columns.check(entry, need)
        values = self.own.cells(entry, self.count)
        nulls = sum(value is None for value in values) or None
        need(nulls == entry.get("nulls") and bool(nulls) == ("validity" in entry), "nulls")
        need(entry["dtype"] != "bool" or max(self.own._array(entry["data"], "u1")) < 2, "bools")
        return values

    @staticmethod
    def _check(entry: dict) -> int:
        kind, id_, samples = take(entry, kind=str, id=str, num_samples=int)
        places = {name: str for name in ("path", "hint", "location", "version") if entry.get(name) is not None}
        for text in take(entry, **places):
            need(0 < len(text.encode()) <= MAX_PATH and not re.search(EVIL_SIGN, text), "evil path")
        need(("path" in places) == ("hint" in places) and places.keys() & {"path", "location"}, "no place")
        if "path" in places:
            need(entry["path"][0] != "/" == entry["hint"][0], "an absolute path, or a hint that is not")
        if "version" in places:
            need("location" in places and re.fullmatch("[!-~]{1,256}", entry["version"]), "version")
        if "location" in places:
            is_identified = kind != "jsonl" or places.keys() & {"path", "version"}
            need(local_path(entry["location"]) or is_identified, "remote lines without version")
        members = {"pair": [], "mds": [], "directory": ["shards"], "jsonl": ["content", "index"]}
        form = {"mds": "[0-9a-f]{16}", "jsonl": "[0-9]+--?[0-9]+"}.get(kind, HASH)
        need(kind in members and re.fullmatch(form, id_), "kind or id")
        present = sorted(entry.keys() & {"shards", "index", "content"})
        need(present == members[kind] and (kind == "jsonl" or "markers" not in entry), "members of another kind")
        need(kind != "directory" or take(entry, shards=int), "shards")
        need(kind != "jsonl" or re.fullmatch(HASH, take(entry, content=str)[0]), "content")
        return samples

    def _base(self, entry: dict) -> list[Pair | Lines]:
        named = self.own.path.absolute().parent
        places = []
        if entry.get("path") is not None:
            near = [Path(normpath(folder / entry["path"])) for folder in (named, named.resolve())]
            places = [*near, Path(entry["hint"])]
        if entry.get("location") is not None:
            places.append(local_path(entry["location"]))
        for place in dict.fromkeys(places):
            need(place, "this reader opens no URLs but file://", UnsupportedError)
            if place.exists():
                with suppress(MismatchError):
                    return getattr(self, f"_{entry['kind']}")(place, entry)
        raise MismatchError(f"the base {entry['id']} is missing or another dataset")

    def _pair(self, place: Path, entry: dict) -> list[Pair | Lines]:
        pair = Pair(place)
        need(not pair.is_view, "a base is a view", MismatchError)
        need([pair.id, pair.count] == [entry["id"], entry["num_samples"]], "another pair", MismatchError)
        return [pair]

    def _directory(self, place: Path, entry: dict) -> list[Pair | Lines]:
        need((place / "jinx.json").exists(), "no manifest", MismatchError)
        shards, are_views = manifest(place)
        need(not are_views, "a base is a view", MismatchError)
        shards = shards[: entry["shards"]]
        listed = [[name, samples, id_] for name, samples, _, id_, _ in shards]
        text = json.dumps(listed, separators=(",", ":"), ensure_ascii=False).encode()
        actual = [len(listed), xxh3_128_hexdigest(text), sum(samples for _, samples, _ in listed)]
        need(actual == take(entry, shards=int, id=str, num_samples=int), "another directory", MismatchError)
        return [*open_shards(place, shards)]

    def _jsonl(self, place: Path, entry: dict) -> list[Pair | Lines]:
        status, offsets = place.stat(), self.own._array(entry["index"], "<u8")
        need(entry["id"] == f"{status.st_size}-{status.st_mtime_ns}", "other lines", MismatchError)
        need(len(offsets) == entry["num_samples"] + 1 and offsets[-1] == status.st_size, "line offsets")
        return [Lines(place.read_bytes(), offsets, markers=entry.get("markers", False))]

    def _mds(self, place: Path, entry: dict) -> list[Pair | Lines]:
        raise UnsupportedError(f"{place}: this reader does not read the MDS profile; {entry['num_samples']} samples")

    def __getitem__(self, i: int) -> dict:  # views.md, section 3
        position = self.positions[i]
        need(position < len(self.parts), f"position {position}")
        part, at = self.parts[position]
        shown = {name: value for name, value in part[at].items() if name not in self.hidden}
        own = self.own[i] if self.own.count else {}
        own |= {name: values[i] for name, values in self.typed.items()}
        return shown | {name: value for name, value in own.items() if name in self.names or name in self.typed}


@failures_mean_damage()
def open_pairs(path: str | Path) -> list[Pair | View]:
    """The pairs of a dataset: one, which may be a view, or the shards of a directory in order (manifest.md 1)."""
    path = Path(path)
    if not path.is_dir():
        pair = Pair(path)
        return [View(pair) if pair.is_view else pair]
    if not (path / "jinx.json").exists():
        shards = sorted(path.glob("shard-*.jinx"), key=lambda p: (re.sub(r"\d+", lambda n: n[0].zfill(255), p.name), p))
        need(shards, "no shards", MismatchError)
        pairs = [Pair(shard) for shard in shards]
        need(not any(pair.is_view for pair in pairs), "a shard is a view", UnsupportedError)
        return pairs
    shards, are_views = manifest(path)
    return [View(pair) if are_views else pair for pair in open_shards(path, shards, are_views=are_views)]


def manifest(path: Path) -> tuple[list[list], bool]:  # the entries of each shard, in order; and whether they are views
    data = (path / "jinx.json").read_bytes()
    table, new = parse_table(data[:-1], "view")
    need(new and data.endswith(b"\n") and table.get("format") == "jinx", "not a manifest")
    total, shards = take(table, num_samples=int, shards=list)
    shards = [take(shard, name=str, samples=int, bytes=int, id=str, sidecar_bytes=int) for shard in shards]
    need(sum(samples for _, samples, *_ in shards) == total, "num_samples")
    return shards, "view" in table.get("features_required", [])  # views.md, section 6


def open_shards(path: Path, shards: list[list], *, are_views: bool = False) -> list[Pair]:
    pairs = []
    for name, *identity in shards:
        need((path / name).exists(), f"shard {name} is missing", MismatchError)
        need((path / name).stat().st_size >= identity[1], f"shard {name} is cut", TruncatedFileError)
        pairs.append(Pair(path / name))
        need(pairs[-1].is_view == are_views, f"shard {name} is a view, or not one like the others", UnsupportedError)
        need(pairs[-1].identity == identity, f"shard {name} is not the one in the manifest", MismatchError)
    return pairs
