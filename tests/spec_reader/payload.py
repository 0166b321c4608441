"""Bytes to values: text encodings, codecs, NPY files, numpy scalars."""

import ast
import base64
import binascii
import bz2
import lzma
import math
import re
import struct
import zlib

import numpy as np
import zstandard

from spec_reader.snappy_frames import decode_stream
from spec_reader.syntax import (
    MAX_VALUE,
    CorruptFileError,
    JinxError,
    LimitError,
    TruncatedFileError,
    UnsupportedError,
    is_uint,
    need,
)


class Brotli:
    def __init__(self) -> None:
        import brotli

        self.stream, self.unused_data = brotli.Decompressor(), b""

    def decompress(self, data: bytes) -> bytes:
        return self.stream.process(data)

    @property
    def eof(self) -> bool:
        return self.stream.is_finished()


def zstd_stream(data: bytes) -> object:
    if data[1:4] == b"\xb5\x2f\xfd":
        header = zstandard.get_frame_parameters(data)
        need(header.dict_id == 0, "zstd dictionary", UnsupportedError)
        need(data[4] & 32 or header.window_size <= 1 << 27, "zstd window too large", LimitError)
        need(
            header.content_size == zstandard.CONTENTSIZE_UNKNOWN or header.content_size <= MAX_VALUE,
            "value too large",
            LimitError,
        )
    return zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()


def lz4_stream(_: bytes) -> object:
    import lz4.frame

    return lz4.frame.LZ4FrameDecompressor()


STREAMS = {
    "zst": zstd_stream,
    "gz": lambda _: zlib.decompressobj(31),
    "br": lambda _: Brotli(),
    "bz2": lambda _: bz2.BZ2Decompressor(),
    "lz4": lz4_stream,
    "xz": lambda _: lzma.LZMADecompressor(lzma.FORMAT_XZ),
    "lzma": lambda _: lzma.LZMADecompressor(lzma.FORMAT_XZ),
}


def unpack(codec: str, data: bytes) -> bytes:
    try:
        if codec == "snappy":
            return decode_stream(data)
        out, rest, stream = bytearray(), data, None
        need(data, "empty stream", TruncatedFileError)
        while rest:
            if codec == "zst" and rest[1:4] == b"\x2a\x4d\x18" and rest[0] >> 4 == 5:
                rest = rest[8 + int.from_bytes(rest[4:8], "little") :]
                continue
            stream = STREAMS[codec](rest)
            while rest and not stream.eof:
                out += stream.decompress(rest[:4096])
                rest = rest[4096:]
                need(len(out) <= MAX_VALUE, "value too large", LimitError)
            need(stream.eof, f"{codec} stream is cut", TruncatedFileError)
            rest = (stream.unused_data or b"") + rest
            need(codec != "br" or not rest, "bytes after the stream")
        return bytes(out)
    except (JinxError, ImportError):
        raise
    except Exception as error:  # every library has its own class
        raise CorruptFileError(f"{codec}: {error}") from error


def from_text(text: str, encoding: str, strict: bool) -> bytes:
    try:
        if encoding == "a85":
            return base64.a85decode(text.encode("ascii"), foldspaces=True)
        if encoding == "hex":
            return binascii.unhexlify(text)
        return base64.b64decode(text.encode("ascii"), validate=strict)
    except ValueError as error:
        raise CorruptFileError(str(error)) from error


def dtype_of(text: object) -> np.dtype:
    need(not isinstance(text, list), "structured dtype", UnsupportedError)
    simple = r"[<>|=]?(b1|[iu][1248]|f[248]|c8|c16|[Mm]8(\[\d*[A-Za-z]+\])?|[SU]\d+)"
    need(isinstance(text, str) and re.fullmatch(simple, text), f"dtype {text!r}")
    try:
        return np.dtype(text)
    except TypeError as error:
        raise CorruptFileError(str(error)) from error


def array_of(data: bytes) -> np.ndarray:
    need(data[:6] == b"\x93NUMPY" and len(data) >= 12 and data[6] in (1, 2, 3), "not an NPY file")
    start, form = (10, "<H") if data[6] == 1 else (12, "<I")
    end = start + struct.unpack_from(form, data, 8)[0]
    need(end <= len(data), "NPY header is cut")
    try:
        header = ast.literal_eval(data[start:end].decode("utf-8" if data[6] == 3 else "latin1").strip())
        descr, fortran, shape = header["descr"], header["fortran_order"], header["shape"]
    except (ValueError, SyntaxError, KeyError, TypeError) as error:
        raise CorruptFileError("NPY header") from error
    dtype = dtype_of(descr)
    need(
        isinstance(shape, tuple) and len(shape) <= 64 and all(is_uint(n) for n in shape) and isinstance(fortran, bool),
        "NPY shape",
    )
    need(math.prod(shape) * dtype.itemsize == len(data) - end, "NPY shape and data differ")
    return np.ndarray(shape, dtype, bytearray(data[end:]), order="F" if fortran else "C")


def scalar_of(data: bytes) -> np.generic:
    text, zero, item = data.partition(b"\0")
    dtype = dtype_of(text.decode("latin1"))
    need(zero and len(item) == dtype.itemsize > 0, "np scalar")
    return np.frombuffer(item, dtype)[0]
