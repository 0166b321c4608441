"""A second reader of JINX 1.0 and 1.1, written from the pages in spec/ alone.

Slow and small on purpose. It makes all checks of level "full".
"""

import re
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import xxhash

from spec_reader import payload, syntax
from spec_reader.syntax import (
    CODECS,
    FLOATS,
    INTS,
    TYPES,
    CorruptFileError,
    JinxError,
    LimitError,
    Members,
    MismatchError,
    TruncatedFileError,
    UnsupportedError,
    check_digest,
    check_name,
    member,
    need,
    parse,
    parse_object,
    plain,
    version_of,
)


class Pair:
    """`pair[i]` is a sample; `pair.column(entry)` a list with None for missing rows."""

    def __init__(self, path: Path) -> None:
        self.path, self.data, self._sidecar = path, path.read_bytes(), None
        tail = self.data[-1024:].rstrip(syntax.BLANKS)
        last = tail[tail.rfind(b"\n") + 1 :]
        need(re.fullmatch(rb"[0-9]{1,20}", last), "no trailer", TruncatedFileError)
        self.end = int(last)
        line = len(self.data) - len(self.data[-1024:]) + len(tail) - len(last)
        need(self.end < line, "footer offset past the end")
        footer = self.data[self.end : line].rstrip(syntax.BLANKS)
        need(footer[:1] == b"{", "no footer at the footer offset")
        self.footer = table = parse_object(footer, "footer")
        self.new = version_of(table) >= (1, 1)
        check_digest(footer, table, self.new)
        self.sep, self.encoding, self.media = table.get("ext_sep", "."), table.get("encoding", "a85"), set()
        need(self.sep and isinstance(self.sep, str), "ext_sep")
        need(self.sep == "." or (not self.new and "." not in self.sep), "ext_sep", UnsupportedError)
        need(self.encoding in ("a85", "b64", "hex"), "unknown text encoding", UnsupportedError)
        self.count = member(table, "num_samples", int)
        if self.new:
            self._open_new(len(footer), last)
        key = next((key for key in table if key.startswith("index.")), None)
        need(key, "no index")
        self.mixed = self.sep not in key
        chain = key.split("." if self.mixed else self.sep)[1:]
        need(chain[0] == "npy" and (chain[1:] == ["bin"] or set(chain[1:]) <= CODECS), "index chain", UnsupportedError)
        raw = self._payload(table[key], chain[1:])
        need(len(raw) == 8 * (self.count + 1), "index length")
        self.offsets = np.frombuffer(raw, "<u8").tolist()
        need(
            all(a < b for a, b in pairwise(self.offsets)) and self.offsets[-1] <= self.end,
            "index order",
        )
        need(not self.new or (self.offsets[0] == 0 and self.offsets[-1] == self.end), "index ends")

    def _open_new(self, footer_size: int, last: bytes) -> None:
        table = self.footer
        need(
            len(self.data) == self.end + footer_size + len(last) + 2 and (last[:1] != b"0" or last == b"0"), "file size"
        )
        need(self.end == 0 or self.data[self.end - 1] == 10, "no line end before the footer")
        need(re.fullmatch("[0-9a-f]{32}", member(table, "id", str)) and "sidecar" in table, "id or sidecar")
        if table["sidecar"] is not None:
            name, length = (
                member(table["sidecar"] if isinstance(table["sidecar"], dict) else {}, "name", str),
                member(table["sidecar"], "length", int),
            )
            check_name(name)
            first = None
            for candidate in (self.path.with_suffix(".binx").name, name, f".{self.path.stem}.binx.{table['id']}"):
                try:
                    self._sidecar = self._check_sidecar(self.path.with_name(candidate), length)
                    break
                except JinxError as error:
                    if not isinstance(error, MismatchError) or "absent" not in str(error):
                        first = first or error
            else:
                raise first or MismatchError(f"sidecar {name} of {length} bytes with id {table['id']} is missing")
        self.media = {tuple(f["path"]) for f in member(table, "fields", list) if "media" in f}
        self.hashes = np.frombuffer(self._array(table.get("line_hash"), 8 * self.count), "<u8").tolist()
        member(table, "columns", list)

    def _check_sidecar(self, path: Path, length: int) -> bytes:
        need(path.exists(), f"{path} is absent", MismatchError)
        data = path.read_bytes()
        need(len(data) >= 64, "sidecar header is cut", TruncatedFileError)
        need(
            data[:8] == syntax.MAGIC and xxhash.xxh3_64_intdigest(data[:56]) == int.from_bytes(data[56:64], "little"),
            "sidecar header",
        )
        major, _, flags = struct.unpack_from("<HHI", data, 8)
        need(major == 1 and flags == 0, "sidecar version or flags", UnsupportedError)
        need(data[16:32].hex() == self.footer["id"], "sidecar of another main file", MismatchError)
        need(64 <= int.from_bytes(data[32:40], "little") <= len(data), "values_end", TruncatedFileError)
        need(len(data) >= length, "sidecar is cut", TruncatedFileError)
        need(len(data) == length, "sidecar is too long")
        return data

    def _beside(self) -> bytes:
        if self._sidecar is None:
            need(not self.new, "pointer without a sidecar", MismatchError)
            path, old = self.path.with_suffix(".binx"), self.path.with_name(f".{self.path.stem}.binx.old")
            need(path.exists(), f"sidecar {path} is missing", MismatchError)
            self._sidecar = path.read_bytes()
            if self._sidecar[:8] == syntax.MAGIC and old.exists():
                self._sidecar = old.read_bytes()
        return self._sidecar

    def _pointed(self, pointer: dict) -> bytes:
        offset, length = member(pointer, "offset", int), member(pointer, "length", int)
        if self.new:
            need(re.fullmatch("[0-9a-f]{16}", member(pointer, "x", str)), "x is malformed")
        data = self._beside()
        need(not self.new or offset >= 64, "pointer into the header")
        need(offset + length <= len(data), "pointer past the end", TruncatedFileError)
        data = data[offset : offset + length]
        need(not self.new or xxhash.xxh3_64_hexdigest(data) == pointer["x"], "x does not match")
        return data

    def _array(self, entry: object, size: int | None) -> bytes:
        need(isinstance(entry, dict), "array is missing")
        if "data" in entry:
            data = payload.unpack("zst", payload.from_text(member(entry, "data", str), "b64", strict=True))
            need(xxhash.xxh3_64_hexdigest(data) == member(entry, "x", str), "x of an array")
        else:
            data = self._pointed(entry)
        need(len(data) == member(entry, "length", int) and size in (None, len(data)), "length of an array")
        return data

    def _payload(self, value: object, chain: list[str]) -> bytes:
        if chain[-1:] == ["bin"]:
            need(isinstance(value, (Members, dict)), "not a pointer")
            data, chain = self._pointed(dict(value)), chain[:-1]
        else:
            need(isinstance(value, str), "not a text")
            data = payload.from_text(value, self.encoding, self.new)
        need(len(chain) - (chain[:1] != [] and chain[0] in TYPES) <= syntax.MAX_CODECS, "too many codecs", LimitError)
        for codec in reversed([part for part in chain if part in CODECS]):
            data = payload.unpack(codec, data) if data or codec != "snappy" or self.new else b""
        return data

    def _fits(self, chain: list[str], value: object) -> bool:
        """Whether `chain` is in the grammar and fits the JSON value."""
        if isinstance(value, bool) or (isinstance(value, list) and not isinstance(value, Members)):
            return False
        if len(chain) == 1 and chain[0] in INTS | FLOATS:
            return isinstance(value, (int, float)) or (chain[0] in FLOATS and (value is None or isinstance(value, str)))
        if isinstance(value, Members):
            pointer = self.new or {"offset", "length"} <= {key for key, _ in value}
            return bool(chain) and chain[-1] == "bin" and pointer and set(chain[:-1][chain[0] in TYPES :]) <= CODECS
        return isinstance(value, str) and bool(chain) and set(chain[chain[0] in TYPES :]) <= CODECS

    def _split_old(self, key: str, value: object) -> tuple[str, list[str]]:
        if self.mixed and self.sep != ".":
            name, dot, text = key.rpartition(".")
            return (name, text.split(self.sep)) if dot and self._fits(text.split(self.sep), value) else (key, [])
        parts = key.split(self.sep)
        best = next((cut for cut in range(1, len(parts)) if self._fits(parts[cut:], value)), len(parts))
        return self.sep.join(parts[:best]), parts[best:]

    def _split_new(self, key: str, value: object, wrapper: bool) -> tuple[str, list[str]]:
        if not key.endswith("."):
            name, dot, text = key.partition(".")
            need(not dot or text, "empty chain")
        else:
            name, dots, text = key[:-1].rpartition("..")
            need(dots and (bool(name) != wrapper), "malformed quoted key")
            need(text or not wrapper, "wrapper without a chain")
        chain = text.split(".") if text else []
        need(not chain or self._fits(chain, value), f"chain {text!r} is unknown or does not fit")
        return name, chain

    def _decode(self, value: object, chain: list[str]) -> object:
        if chain[0] in INTS:
            bounds = np.iinfo(chain[0])
            need(type(value) is int and bounds.min <= value <= bounds.max, f"not an {chain[0]}")
            return np.dtype(chain[0]).type(value)
        if chain[0] in FLOATS:
            if isinstance(value, str):
                legal = re.fullmatch("[+-]?(inf|infinity|nan)", value, re.IGNORECASE)
                need(legal, f"{value!r} is no float")
            number = float("nan" if value is None else value)
            return number if self.new and chain[0] == "float64" else np.dtype(chain[0]).type(number)
        data, kind = self._payload(value, chain), chain[0]
        if kind == "str":
            try:
                return data.decode()
            except ValueError as error:
                raise CorruptFileError(str(error)) from error
        decoders = {"raw": bytes, "npy": payload.array_of, "np": payload.scalar_of}
        need(kind != "pt", "tensors need torch", UnsupportedError)
        return decoders[kind](data) if kind in decoders else plain(parse(data, unique=self.new))

    def _tree(self, value: object, path: tuple) -> object:
        if isinstance(value, Members):
            if (
                self.new
                and path[-1:] == (None,)
                and len(value) == 1
                and re.fullmatch(r"\.\..*\.", value[0][0], re.DOTALL)
                and value[0][0][:-1].rfind("..") == 0
            ):
                return self._decode(value[0][1], self._split_new(*value[0], wrapper=True)[1])
            result = {}
            for key, item in value:
                name, chain = self._split_new(key, item, wrapper=False) if self.new else self._split_old(key, item)
                need(not self.new or name not in result, f"name {name!r} occurs twice")
                result[name] = self._decode(item, chain) if chain else self._tree(item, (*path, name))
            if path in self.media and result.keys() == {"bytes", "path"} and isinstance(result["bytes"], bytes):
                return result["bytes"]
            return result
        return [self._tree(item, (*path, None)) for item in value] if isinstance(value, list) else value

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> dict:
        line = self.data[self.offsets[i] : self.offsets[i + 1]]
        if self.new:
            need(xxhash.xxh3_64_intdigest(line) == self.hashes[i], f"hash of line {i} does not match")
            need(line.endswith(b"\n"), f"line {i} has no end")
        row = parse(line)
        need(isinstance(row, Members), f"line {i} is not an object")
        return self._tree(row, ())

    def column(self, entry: dict) -> list:
        rows, dtype = member(entry, "rows", int), member(entry, "dtype", str)
        need(rows == self.count and dtype in INTS | {"bool", "float64", "utf8"}, "column")
        size = None if dtype == "utf8" else rows * np.dtype(dtype).itemsize
        data = self._array(entry.get("data"), size)
        if dtype == "utf8":
            cuts = np.frombuffer(self._array(entry.get("offsets"), 8 * (rows + 1)), "<u8").tolist()
            need(cuts[0] == 0 and cuts == sorted(cuts) and cuts[-1] == len(data), "offsets of a column")
            values = [data[a:b].decode() for a, b in pairwise(cuts)]
        else:
            values = np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).tolist()
        if "validity" not in entry:
            return values
        bits = np.unpackbits(
            np.frombuffer(self._array(entry["validity"], (rows + 7) // 8), np.uint8), bitorder="little"
        )
        return [value if bit else None for value, bit in zip(values, bits, strict=False)]
