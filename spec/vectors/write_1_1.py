"""A small writer of JINX 1.1, made from the pages in spec/ alone, that lets a caller damage what it writes."""

import base64
import io
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import xxhash
import zstandard

INTS = {f"{sign}int{width}": (f"{'u' if sign else 'i'}{width // 8}") for width in (8, 16, 32, 64) for sign in ("", "u")}
PACKED = (b"\xff\xd8\xff", b"\x89PNG", b"\x28\xb5\x2f\xfd", b"\x1f\x8b")


class Media:
    """A Hugging Face image: bytes, file name, or one of them."""

    def __init__(self, data: bytes | None, path: str | None) -> None:
        self.data, self.path = data, path


class View:
    """What a saved view shows; `lines` holds the line offsets of each base of plain JSON lines, None for any other."""

    def __init__(self, bases: list[dict], lines: list[list[int] | None], positions: list[int] | None, drop: list[str],
                 typed: dict[str, tuple[str, list]] | None = None) -> None:  # fmt: skip
        self.bases, self.lines, self.positions, self.drop = bases, lines, positions, drop
        self.typed, self.own = typed or {}, list[dict]()
        self.samples = sum(base["num_samples"] for base in bases) if positions is None else len(positions)

    def canonical(self) -> bytes:
        """What the id covers besides the rows."""
        bases = [{name: base[name] for name in ("kind", "id", "num_samples", "markers") if name in base} for base in self.bases]
        shown = orjson.dumps({"base": bases, "drop": self.drop}) + np.array(self.positions or [], "<u8").tobytes()
        own = [{"name": column["path"][0], "dtype": column["dtype"], "width": column.get("width", 0),
                "x": [column[name]["x"] for name in ("validity", "data", "offsets", "codes") if name in column],
                **({"zone": column["zone"]} if "zone" in column else {})} for column in self.own]  # fmt: skip
        return shown + (orjson.dumps({"own": own}) if own else b"")


def x(data: bytes) -> str:
    """xxh3-64 as text."""
    return xxhash.xxh3_64_hexdigest(data)


def zst(data: bytes) -> bytes:
    """One frame with its content size."""
    return zstandard.ZstdCompressor(level=3).compress(data)


def npy(array: np.ndarray) -> bytes:
    """A complete NPY file."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def with_digest(text: bytes) -> bytes:
    """An object's text with its digest as last member."""
    return text[:-1] + f',"digest":"{x(text[:-1])}"}}'.encode()


def key_of(name: str, chain: list[str]) -> str:
    """A member's key."""
    if "." in name:
        return f"{name}..{'.'.join(chain)}."
    return ".".join([name, *chain])


class Writer:
    """One pair. `pointers`: arrays lie in the sidecar whatever their size; `chunk`: those longer than it have chunks."""

    def __init__(self, path: Path, *, sidecar: bool = True, pointers: bool = False, media: dict | None = None, encoding: str = "b64",
                 chunk: int = 2**20) -> None:  # fmt: skip
        self.path, self.allowed, self.pointers, self.encoding, self.chunk = path, sidecar, pointers, encoding, chunk
        self.media = media or {}
        self.body = bytearray(64)
        self.lines: list[bytes] = []
        self.fields: dict[tuple, dict] = {(*p,): {"kinds": {}, "media": {"type": t}} for p, t in self.media.items()}
        self.samples: list[dict] = []
        self.wanted: list[tuple[tuple, str]] = []

    # -- values --
    def store(self, data: bytes, path: str | None = None) -> dict:
        """Bytes into the sidecar at the next multiple of 64."""
        self.body += bytes(-len(self.body) % 64)
        pointer = {"offset": len(self.body), "length": len(data), "x": x(data)}
        self.body += data
        return {**pointer, "path": path} if path else pointer

    def text(self, data: bytes) -> str:
        """Inline bytes."""
        if self.encoding == "a85":
            return base64.a85encode(data).decode()
        return data.hex() if self.encoding == "hex" else base64.b64encode(data).decode()

    def _fact(self, path: tuple, kind: str, coded: tuple[int, int] | None = None) -> None:
        field = self.fields.setdefault(path, {"kinds": {}})
        field["kinds"][kind] = field["kinds"].get(kind, 0) + 1
        if coded:
            for name, more in zip(("coded", "bytes", "decoded"), (1, *coded), strict=True):
                field[name] = field.get(name, 0) + more

    def _blob(self, data: bytes, kind: str, shown: str, path: tuple, file_name: str | None = None) -> tuple[object, list[str]]:
        chain, stored = [kind], data
        if len(data) >= 128 and not data.startswith(PACKED):
            packed = zst(data)
            if len(packed) <= 0.9 * len(data):
                chain, stored = [kind, "zst"], packed
        if self.allowed and len(data) > 64:
            self._fact(path, shown, (len(stored), len(data)))
            return self.store(stored, file_name), [*chain, "bin"]
        text = self.text(stored)
        self._fact(path, shown, (len(text), len(data)))
        return text, chain

    def _media(self, value: Media, path: tuple) -> tuple[object, list[str]]:
        if value.data is not None and self.allowed and len(value.data) > 64:
            return self._blob(value.data, "raw", "bytes", path, value.path)
        self._fact(path, "dict")
        return {key_of(name, chain): stored for name, (stored, chain) in
                (("bytes", self._value(value.data, (*path, "bytes"))), ("path", self._value(value.path, (*path, "path"))))}, []  # fmt: skip

    def _value(self, value: object, path: tuple) -> tuple[object, list[str]]:
        if isinstance(value, Media):
            return self._media(value, path)
        if isinstance(value, dict):
            self._fact(path, "dict") if path else None
            members = {}
            for name, item in value.items():
                stored, chain = self._value(item, (*path, name))
                if "." in name and not chain:
                    field = self.fields.setdefault((*path, name), {"kinds": {}})
                    field["quoted"] = field.get("quoted", 0) + 1
                members[key_of(name, chain)] = stored
            return members, []
        if isinstance(value, list):
            self._fact(path, "list")
            items = [self._value(item, (*path, None)) for item in value]
            return [{f"..{'.'.join(chain)}.": stored} if chain else stored for stored, chain in items], []
        if isinstance(value, bytes):
            return self._blob(value, "raw", "bytes", path)
        if isinstance(value, np.ndarray):
            return self._blob(npy(value), "npy", "ndarray", path)
        if isinstance(value, np.generic):
            name = value.dtype.name
            if name not in INTS and name != "float32":
                return self._blob(value.dtype.str.encode() + b"\0" + value.tobytes(), "np", "np", path)
            self._fact(path, name, (0, 0))
            return (value.item() if name in INTS else self._number(value.item())), [name]
        if isinstance(value, str) and len(value.encode()) > 32768 and self.allowed and path[-1] is not None:
            return self._blob(value.encode(), "str", "str", path)
        if isinstance(value, float) and not math.isfinite(value):
            self._fact(path, "float64", (0, 0))
            return self._number(value), ["float64"]
        self._fact(path, {type(None): "null"}.get(type(value), type(value).__name__))
        return orjson.Fragment(str(value)) if type(value) is int else value, []

    @staticmethod
    def _number(value: float) -> object:
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else "+inf" if value > 0 else "-Infinity"

    # -- rows --
    def write(self, sample: dict) -> None:
        """A sample by the rules of the specification."""
        self.samples.append(sample)
        self.line(orjson.dumps(self._value(sample, ())[0]))

    def line(self, line: bytes) -> None:
        """A line as it is, newline added."""
        self.lines.append(line + b"\n")

    def coded(self, *paths: tuple) -> None:
        """Tells the footer that lines made by hand carry chains at these paths."""
        for path in paths:
            for end in range(1, len(path) + 1):
                self.fields.setdefault(path[:end], {"kinds": {}})
            self.fields[path]["coded"] = self.fields[path].get("coded", 0) + 1

    def column(self, path: tuple, kind: str = "value") -> None:
        """Asks for a column."""
        self.wanted.append((path, kind))

    # -- footer --
    def array(self, data: bytes) -> dict:
        """An ARRAY."""
        if self.allowed and (self.pointers or len(data) >= 65536):
            return self.pointer(data)
        return self.inline(data)

    @staticmethod
    def inline(data: bytes) -> dict:
        """An array in the footer."""
        return {"data": base64.b64encode(zst(data)).decode(), "length": len(data), "x": x(data)}

    def pointer(self, data: bytes) -> dict:
        """An array in the sidecar."""
        pointer = self.store(data)
        if len(data) <= self.chunk:
            return pointer
        sums = [xxhash.xxh3_64_intdigest(data[at : at + self.chunk]) for at in range(0, len(data), self.chunk)]
        return {**pointer, "chunk": self.chunk, "xs": self.inline(np.array(sums, "<u8").tobytes())}

    def _shown(self, view: View) -> dict:
        """A view's members of the footer."""
        indexes = [{} if lines is None else {"index": self.array(np.array(lines, "<u8").tobytes())} for lines in view.lines]
        shown: dict = {"rows": len(self.lines), "base": [base | index for base, index in zip(view.bases, indexes, strict=True)]}
        if view.positions is not None:
            shown["positions"] = self.array(np.array(view.positions, "<u8").tobytes())
        view.own = [self._typed(name, *column) for name, column in view.typed.items()]
        return shown | ({"drop": view.drop} if view.drop else {}) | ({"own": view.own} if view.own else {})

    def _typed(self, name: str, dtype: str, values: list) -> dict:
        """A typed column: numbers, bools, strings, or lists of numbers of one length.

        `utf8 codes` are strings with codes, in the order of first appearance, and `datetime64[ms] ZONE` instants.
        """
        dtype, _, more = dtype.partition(" ")
        entry: dict = {"path": [name], "kind": "value", "dtype": dtype, "rows": len(values)}
        if more and dtype != "utf8":
            entry["zone"] = more
        width = next((len(value) for value in values if isinstance(value, list)), 0)
        if width:
            entry["width"] = width
        if None in values:
            entry["nulls"] = values.count(None)
            entry["validity"] = self.array(np.packbits([value is not None for value in values], bitorder="little").tobytes())
        if dtype == "utf8":
            strings = [value or "" for value in values]
            if more:
                strings = list(dict.fromkeys(value for value in values if value is not None)) or [""]
                code = "<i1" if len(strings) <= 128 else "<i2" if len(strings) <= 32768 else "<i4"
                codes = np.array([0 if value is None else strings.index(value) for value in values], code).tobytes()
            texts = [text.encode() for text in strings]
            offsets = np.cumsum([0, *map(len, texts)]).astype("<u8").tobytes()
            if more:
                entry |= {"entries": len(texts), "data": self.array(b"".join(texts)), "offsets": self.array(offsets)}
                return entry | {"codes": self.array(codes)}
            return entry | {"data": self.array(b"".join(texts)), "offsets": self.array(offsets)}
        missing: object = [0] * width if width else 0
        number = np.dtype("i8" if dtype.startswith("datetime64") else dtype).newbyteorder("<")
        array = np.array([missing if value is None else value for value in values], number)
        return entry | {"data": self.array(array.tobytes())}

    def _field_list(self) -> list[dict]:
        tops = dict.fromkeys(path[0] for path in self.fields if path)
        entries = []
        for top in tops:
            below = sorted((p for p in self.fields if p and p[0] == top), key=len)
            for path in below:
                field, parent = self.fields[path], self.fields.get(path[:-1], {})
                if len(path) == 1 or field.keys() & {"coded", "quoted", "media"} or "media" in parent:
                    entries.append({"path": list(path), **field})
        return entries

    def _column(self, path: tuple, kind: str) -> dict:
        values = []
        for sample in self.samples:
            value: object = sample
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            values.append(len(value) if kind == "length" and value is not None else value)
        present = [value for value in values if value is not None]
        entry: dict = {"path": list(path), "kind": kind, "dtype": "", "rows": len(values)}
        if len(present) < len(values):
            bits = np.packbits([value is not None for value in values], bitorder="little")
            entry["validity"] = self.array(bits.tobytes())
        if all(isinstance(value, str) for value in present):
            texts = [(value or "").encode() for value in values]
            entry |= {"dtype": "utf8", "data": self.array(b"".join(texts))}
            entry["offsets"] = self.array(np.cumsum([0, *map(len, texts)]).astype("<u8").tobytes())
            return entry
        if all(isinstance(value, bool) for value in present):
            code, entry["dtype"] = "u1", "bool"
        elif all(isinstance(value, int) for value in present):
            fits = (n for n, c in INTS.items() if all(np.iinfo(c).min <= value <= np.iinfo(c).max for value in present))
            entry["dtype"] = next(fits)
            code = INTS[entry["dtype"]]
        else:
            code, entry["dtype"] = "f8", "float64"
        entry["data"] = self.array(np.array([0 if value is None else value for value in values], f"<{code}").tobytes())
        return entry

    def close(self, *, edit: Callable[[dict], dict | None] | None = None, footer_bytes: Callable[[bytes], bytes] | None = None,
              index: Callable[[list], list] | None = None, hashes: Callable[[list], list] | None = None,
              main: Callable[[bytes], bytes] | None = None, side: Callable[[bytes], bytes | None] | None = None,
              header: Callable[[bytearray], None] | None = None, view: View | None = None, **more: object) -> dict:  # fmt: skip
        """Writes the files; the functions change footer, index, hashes, header or files on the way out. Gives the footer."""
        rows = b"".join(self.lines)
        offsets = np.cumsum([0, *map(len, self.lines)]).tolist() if self.lines or not view else []
        offsets = index(offsets) if index else offsets
        line_hashes = np.array([xxhash.xxh3_64_intdigest(line) for line in self.lines], "<u8").tobytes()
        values_end = len(self.body)
        values = bytes(self.body[64:])
        name = more.pop("sidecar_name", self.path.with_suffix(".binx").name)
        raw = np.array(offsets, "<u8").tobytes()
        if self.allowed and (self.pointers or len(raw) >= 65536):
            footer: dict = {f"index.npy.bin{'.view' if view else ''}": self.pointer(raw)}
        else:
            footer = {f"index.npy.zst{'.view' if view else ''}": self.text(zst(raw))}
        stored_hashes = hashes(line_hashes) if hashes else line_hashes
        hash_entry = self.array(stored_hashes)
        shown = self._shown(view) if view else {}
        columns = [self._column(*wanted) for wanted in self.wanted]
        has_sidecar = len(self.body) > 64
        identity = xxhash.xxh3_128((values if has_sidecar else b"") + stored_hashes + (view.canonical() if view else b""))
        footer |= {
            "num_samples": view.samples if view else len(self.lines), "shard_id": more.pop("shard_id", -1), "version": "1.1", "encoding": self.encoding,
            "binary_threshold": 64, "compression": "zst", "index_compression": "zst", "compress_threshold": 128,
            "compress_ratio": 0.9, "ext_sep": ".", **({"split": more.pop("split")} if "split" in more else {}),
            "features_required": (["view", "own_columns"] if view.own else ["view"]) if view else [], "writer": "jinx-vectors 1", "id": identity.hexdigest(),
            "sidecar": {"name": name, "length": len(self.body)} if has_sidecar else None, "line_hash": hash_entry, **shown,
            "fields": self._field_list(), "columns": columns, "meta": more.pop("meta", {}), **more,
        }  # fmt: skip
        if edit:
            footer = edit(footer) or footer
        text = with_digest(orjson.dumps(footer))
        if footer_bytes:
            text = footer_bytes(text)
        data = rows + text + b"\n%d\n" % len(rows)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(main(data) if main else data)
        if has_sidecar:
            head = bytearray(b"\x89BINX\r\n\x1a" + b"\1\0\1\0" + bytes(4) + identity.digest() + values_end.to_bytes(8, "little") + bytes(16))
            head += xxhash.xxh3_64_intdigest(bytes(head)).to_bytes(8, "little")
            if header:
                header(head)
                head[56:] = xxhash.xxh3_64_intdigest(bytes(head[:56])).to_bytes(8, "little")
            self.body[:64] = head
            out = side(bytes(self.body)) if side else bytes(self.body)
            if out is not None:
                self.path.with_suffix(".binx").write_bytes(out)
        return footer


def manifest(folder: Path, footers: list[tuple[str, dict]], edit: Callable[[dict], dict | None] | None = None,
             text: Callable[[bytes], bytes] | None = None) -> None:  # fmt: skip
    """Writes jinx.json over shards that exist."""
    shards = [{"name": name, "samples": footer["num_samples"], "bytes": (folder / name).stat().st_size,
               "sidecar_bytes": (footer["sidecar"] or {"length": 0})["length"], "id": footer["id"]} for name, footer in footers]  # fmt: skip
    table = {"format": "jinx", "version": "1.1", "generation": 1, "features_required": [], "split": None,
             "num_samples": sum(shard["samples"] for shard in shards), "shards": shards, "meta": {}}  # fmt: skip
    table = (edit(table) or table) if edit else table
    data = with_digest(orjson.dumps(table)) + b"\n"
    (folder / "jinx.json").write_bytes(text(data) if text else data)
