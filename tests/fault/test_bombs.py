"""Small files that stand for gigabytes, impossible arrays and depths: an error of ours within seconds and 512 MiB."""

import base64
import bz2
import gzip
import json
import lzma
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import brotli
import lz4.frame
import pytest
import zstandard
from write_1_0 import Writer, framed_snappy

MIB = 1 << 20
ZEROS = bytes(16 * MIB)
GOOD_ERRORS = {"LimitError", "CorruptFileError", "TruncatedFileError", "UnsupportedError"}


def brotli_bomb() -> bytes:
    stream = brotli.Compressor(quality=3, lgwin=24)
    return b"".join(stream.process(ZEROS) for _ in range(64)) + stream.finish()


def zstd_one_frame() -> bytes:
    """2.5 GiB in one frame that does not tell its size."""
    stream = zstandard.ZstdCompressor(level=1).compressobj()
    return b"".join(stream.compress(ZEROS) for _ in range(160)) + stream.flush()


def codec_bombs() -> dict[str, bytes]:
    """2.5 GiB each (brotli 1 GiB, snappy 720 MiB), most of them of members that follow each other."""
    zst = zstandard.ZstdCompressor().compress(ZEROS)
    return {
        "raw.zst": zst * 160,
        "raw.zst_one_frame": zstd_one_frame(),
        "raw.gz": gzip.compress(ZEROS, 9) * 160,
        "raw.bz2": bz2.compress(ZEROS) * 160,
        "raw.xz": lzma.compress(ZEROS, preset=0) * 160,
        "raw.lzma": lzma.compress(ZEROS, preset=0) * 160,
        "raw.lz4": lz4.frame.compress(ZEROS, block_size=lz4.frame.BLOCKSIZE_MAX4MB) * 160,
        "raw.br": brotli_bomb(),
        "raw.snappy": framed_snappy(ZEROS) * 45,
        "raw.zst.zst": zstandard.ZstdCompressor(19).compress(zst * 160),
        "raw.gz.zst": zstandard.ZstdCompressor(19).compress(gzip.compress(ZEROS, 9) * 1600),
        "str.zst": zst * 160,
        "npy.zst": zstandard.ZstdCompressor().compress(npy_head("(1000000000,)")) + zst * 160,
        "json.zst": zst * 160,
    }


def npy_head(shape: str, descr: str = "'<f8'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


EVIL_ARRAYS = {
    "tera": npy_head("(1099511627776,)"),
    "product_overflows": npy_head("(4294967296, 4294967296, 4294967296)"),
    "product_wraps_to_zero": npy_head("(9223372036854775808, 2)"),
    "beyond_64_bits": npy_head("(18446744073709551617,)"),
    "zero_times_huge": npy_head("(0, 9223372036854775807, 9223372036854775807)"),
    "items_of_nothing": npy_head("(9223372036854775807, 3)", "'|S0'"),
    "negative": npy_head("(-1,)"),
    "minus_both": npy_head("(-1, -8)") + bytes(64),
    "float": npy_head("(1.5,)"),
    "deep": npy_head("(" * 20000),
    "many_dimensions": npy_head("(" + "1," * 20000 + ")") + bytes(8),
    "object": npy_head("(1,)", "'|O'") + b"\x80\x04K\x01.",
    "structured": npy_head("(1,)", "[('a', '<f8'), ('b', '|O')]") + bytes(16),
    "wide_text": npy_head("(1,)", "'<U999999999999'"),
    "wide_wraps": npy_head("(1,)", "'<U4611686018427387904'"),
    "header_of_4_gib": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{}",
    "header_cut": b"\x93NUMPY\x01\x00",
    "zip": b"PK\x03\x04" + bytes(60),
    "pickle": b"\x80\x04cos\nsystem\n(S'touch marker'\ntR.",
}

DEEP = 200_000
EVIL_ROWS = {
    "lists": b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "lists_open": b'{"a":' + b"[" * DEEP,
    "dicts": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "digits": b'{"a":' + b"9" * 3_000_000 + b"}",
    "exponent": b'{"a":1e999999999999}',
    "no_object": b"[1]",
    "offset_wraps": b'{"a.raw.bin":{"offset":18446744073709551615,"length":2}}',
    "length_huge": b'{"a.raw.bin":{"offset":0,"length":18446744073709551615}}',
    "length_tera": b'{"a.raw.bin":{"offset":0,"length":1099511627776}}',
    "offset_negative": b'{"a.raw.bin":{"offset":-1,"length":2}}',
    "offset_float": b'{"a.raw.bin":{"offset":0.5,"length":2}}',
    "beyond_64_bits": b'{"a.raw.bin":{"offset":18446744073709551616,"length":1}}',
    "no_pointer": b'{"a.raw.bin":[0,1]}',
    "long_chain": b'{"a.raw' + b".zst" * 2000 + b'":"AA=="}',
}


def small(path: Path, key: str, data: bytes) -> None:
    """A 1.0 pair of one row whose value is `data` in the sidecar."""
    writer = Writer(path, binary_threshold=1)
    place = writer.store(data)
    writer.line(json.dumps({f"{key}.bin": place}).encode())
    writer.close()


def with_row(path: Path, line: bytes) -> None:
    writer = Writer(path, binary_threshold=1)
    writer.store(b"12345678")
    writer.line(line)
    writer.close()


def with_index(path: Path, key: str, value: object, rows: object = 1) -> None:
    """A file whose footer has this index."""
    row = b'{"a":1}\n'
    footer = {key: value, "num_samples": rows, "version": "1.0", "encoding": "b64", "ext_sep": "."}
    path.write_bytes(row + json.dumps(footer).encode() + f"\n{len(row)}\n".encode())


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def numbers(*values: int) -> str:
    return text(struct.pack(f"<{len(values)}Q", *values))


def write_indices(directory: Path) -> None:
    bomb = text(zstandard.ZstdCompressor().compress(ZEROS) * 160)
    cases: dict[str, tuple[str, object, object]] = {
        "bomb": ("index.npy.zst", bomb, 1),
        "bomb_many_rows": ("index.npy.zst", bomb, 2**28),
        "rows_huge": ("index.npy", numbers(0, 8), 2**64 - 1),
        "rows_wrap": ("index.npy", numbers(0, 8), 2**61 - 1),
        "rows_negative": ("index.npy", numbers(0, 8), -1),
        "rows_float": ("index.npy", numbers(0, 8), 1.0),
        "descending": ("index.npy", numbers(8, 0), 1),
        "beyond_file": ("index.npy", numbers(0, 2**63), 1),
        "wraps": ("index.npy", numbers(2**64 - 8, 8), 1),
        "in_sidecar_wraps": ("index.npy.bin", {"offset": 2**64 - 1, "length": 16}, 1),
        "deep_footer": ("index.npy", "@", 1),
    }
    for name, (key, value, rows) in cases.items():
        with_index(directory / f"index-{name}.jinx", key, value, rows)
    (directory / "index-in_sidecar_wraps.binx").write_bytes(bytes(64))
    deep = directory / "index-deep_footer.jinx"
    deep.write_bytes(deep.read_bytes().replace(b'"@"', b"[" * DEEP + b"]" * DEEP))


def write_trailers(directory: Path) -> None:
    row = b'{"a":1}\n'
    for name, digits in {
        "huge": b"9" * 400, "wraps": b"18446744073709551616", "end": b"18446744073709551615", "negative": b"-1",
        "float": b"1e3", "itself": b"8", "none": b"",
    }.items():  # fmt: skip
        (directory / f"trailer-{name}.jinx").write_bytes(row + b'{"num_samples":1}\n' + digits + b"\n")


def run_under_limit(directory: Path, environment: dict[str, str]) -> dict[str, dict]:
    command = [sys.executable, "-m", "fault.bombing", str(directory)]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    results: dict[str, dict] = {}
    for line in done.stdout.splitlines():
        results |= json.loads(line)
    assert done.returncode == 0, f"after {list(results)[-1:]}: {done.stderr[-1000:]}"
    assert len(results) == len(list(directory.glob("*.jinx")))
    return results


def assert_all_refused(results: dict[str, dict], may_be_fine: Callable[[str], bool] = lambda _: False) -> None:
    wrong = []
    for name, result in results.items():
        fine = result["error"] in GOOD_ERRORS or (result["error"] == "ok" and may_be_fine(name))
        quick = result["seconds"] < 5 and result["verify_seconds"] < 5
        if not fine or not quick or "\n" in result["text"]:
            wrong.append(f"{name}: {result}")
    assert wrong == []


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_bombs_of_every_codec_stop_at_the_memory(directory, child_environment):
    for key, data in codec_bombs().items():
        small(directory / f"{key}.jinx", key.removesuffix("_one_frame"), data)
    assert_all_refused(run_under_limit(directory, child_environment))


def test_evil_arrays_are_refused_before_anything_is_allocated(directory, child_environment):
    for name, data in EVIL_ARRAYS.items():
        small(directory / f"{name}.jinx", "a.npy", data)
    assert_all_refused(run_under_limit(directory, child_environment))
    assert not Path("marker").exists()
    assert not (directory / "marker").exists()


def test_evil_rows_indices_and_trailers_are_refused(directory, child_environment):
    for name, line in EVIL_ROWS.items():
        with_row(directory / f"row-{name}.jinx", line)
    write_indices(directory)
    write_trailers(directory)
    # Only an object can be a pointer; next to anything else the suffixes belong to the name.
    assert_all_refused(run_under_limit(directory, child_environment), lambda name: name == "row-no_pointer")
