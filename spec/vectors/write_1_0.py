"""A small writer of JINX 1.0 that follows the rules of the 1.0 writer, and lets a caller add lines by hand."""

import base64
import bz2
import gzip
import io
import lzma
from pathlib import Path

import brotli
import lz4.frame
import numpy as np
import orjson
import snappy
import zstandard

TEXT = {
    "a85": lambda data: base64.a85encode(data).decode(),
    "b64": lambda data: base64.b64encode(data).decode(),
    "hex": lambda data: data.hex(),
}


def zst(data: bytes) -> bytes:
    """A zstd frame without its content size, as a streaming writer leaves it."""
    out = io.BytesIO()
    with zstandard.ZstdCompressor(level=1).stream_writer(out, closefd=False) as stream:
        stream.write(data)
    return out.getvalue()


def framed_snappy(data: bytes) -> bytes:
    """The framed stream format."""
    stream = snappy.StreamCompressor()
    return stream.compress(data) + stream.flush()


CODECS = {
    "zst": zst,
    "gz": lambda data: gzip.compress(data, mtime=0),
    "br": brotli.compress,
    "bz2": bz2.compress,
    "lz4": lz4.frame.compress,
    "lzma": lzma.compress,
    "xz": lzma.compress,
    "snappy": framed_snappy,
}


def npy(array: np.ndarray) -> bytes:
    """A complete NPY file."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


class Writer:
    """One pair; `options` are the settings of the 1.0 writer and become footer members."""

    def __init__(self, path: Path, **options: object) -> None:
        self.path = path
        self.options = {
            "encoding": "a85", "binary_threshold": None, "compression": None, "index_compression": None,
            "compress_threshold": 64, "compress_ratio": 1.0, "ext_sep": ".", **options,
        }  # fmt: skip
        self.main, self.sidecar, self.offsets = bytearray(), bytearray(), [0]

    def text(self, data: bytes) -> str:
        """Bytes in the text encoding of this file."""
        return TEXT[self.options["encoding"]](data)

    def store(self, data: bytes) -> dict:
        """Bytes into the sidecar."""
        self.sidecar += data
        return {"offset": len(self.sidecar) - len(data), "length": len(data)}

    def _coded(self, data: bytes, kind: str | None) -> tuple[object, list[str]]:
        chain, codec = [kind] if kind else [], self.options["compression"]
        if codec and len(data) >= self.options["compress_threshold"]:
            packed = CODECS[codec](data)
            if len(packed) <= self.options["compress_ratio"] * len(data):
                data, chain = packed, [*chain, codec]
        threshold = self.options["binary_threshold"]
        if threshold is not None and len(data) > threshold:
            return self.store(data), [*chain, "bin"]
        if chain == ["str"]:
            return data.decode(), []
        return self.text(data), chain

    def _value(self, value: object) -> tuple[object, list[str]]:
        if isinstance(value, dict):
            members = {}
            for key, item in value.items():
                stored, chain = self._value(item)
                members[f"{key}.{self.options['ext_sep'].join(chain)}" if chain else key] = stored
            return members, []
        if isinstance(value, list):
            return [self._value(item)[0] for item in value], []
        if isinstance(value, np.generic):
            return value.item(), [value.dtype.name]
        if value is None or isinstance(value, (bool, int, float)):
            return value, []
        if isinstance(value, str):
            infinite = float("inf")
            packed = self.options["compress_threshold"] if self.options["compression"] else infinite
            outside = self.options["binary_threshold"]
            short = len(value) < min(packed, infinite if outside is None else outside)
            return (value, []) if short else self._coded(value.encode(), "str")
        if isinstance(value, bytes):
            return self._coded(value, "raw")
        if isinstance(value, np.ndarray):
            return self._coded(npy(value), "npy")
        return self._coded(orjson.dumps(value), None)

    def write(self, sample: dict) -> None:
        """A sample by the rules of the 1.0 writer."""
        self.line(orjson.dumps(self._value(sample)[0]))

    def line(self, line: bytes) -> None:
        """A line as it is, newline added."""
        self.main += line + b"\n"
        self.offsets.append(len(self.main))

    def _index(self) -> tuple[str, object]:
        data, threshold = np.array(self.offsets, "<u8").tobytes(), self.options["binary_threshold"]
        if threshold is not None and len(data) > threshold:
            return "index.npy.bin", self.store(data)
        codec = self.options["index_compression"]
        if codec and len(data) >= self.options["compress_threshold"]:
            packed = CODECS[codec](data)
            if len(packed) <= self.options["compress_ratio"] * len(data):
                return f"index.npy.{codec}", self.text(packed)
        return "index.npy", self.text(data)

    def close(self, *, index_key: str | None = None, drop: tuple[str, ...] = (), tail: bytes = b"", before_footer: bytes = b"",
              **more: object) -> None:  # fmt: skip
        """Writes the files. `more` are further footer members, `drop` takes members away."""
        key, index = self._index()
        shard_id = more.pop("shard_id", -1)
        footer = {index_key or key: index, "num_samples": len(self.offsets) - 1, "shard_id": shard_id, "version": "1.0"}
        order = ["encoding", "binary_threshold", "compression", "index_compression", "compress_threshold", "compress_ratio", "ext_sep"]
        footer |= {name: self.options[name] for name in order} | more
        footer = {name: value for name, value in footer.items() if name not in drop}
        self.main += before_footer
        start = len(self.main)
        self.main += orjson.dumps(footer) + f"\n{start}\n".encode() + tail
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(self.main)
        if self.sidecar:
            self.path.with_suffix(".binx").write_bytes(self.sidecar)
