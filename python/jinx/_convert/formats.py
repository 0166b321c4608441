"""Formats by the suffixes of file names."""

from pathlib import PurePath
from typing import Literal, get_args

FORMATS = {
    ".jinx": "jinx",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jsonlines": "jsonl",
    ".json": "jsonl",
    ".msgpack": "msgpack",
    ".mpk": "msgpack",
    ".mp": "msgpack",
    ".tar": "tar",
    ".tgz": "tar",
    ".mds": "mds",
}
CODECS = (".gz", ".zst", ".bz2", ".xz", ".lz4", ".br", ".sz", ".lzma")
FormatName = Literal["jinx", "parquet", "arrow", "jsonl", "msgpack", "tar", "mds"]
# Arrow files can only be read.
OutputFormatName = Literal["jinx", "parquet", "jsonl", "msgpack", "tar", "mds"]
NAMES: tuple[FormatName, ...] = get_args(FormatName)


def format_of(path: str) -> str | None:
    """The format for a file's suffix (`a.jsonl.gz` is `jsonl`), or None."""
    name = PurePath(path.lower())
    return FORMATS.get(PurePath(name.stem).suffix if name.suffix in CODECS else name.suffix)


def output_format(out: str) -> str:
    """The format of an output: a name without a suffix is a directory of JINX shards.

    Raises:
        ValueError: The suffix names no format that can be written.
    """
    format = format_of(out)
    if format is not None:
        return format
    if not PurePath(out).suffix:
        return "jinx"
    raise ValueError(
        f"{out}: its suffix names no format; use one of {', '.join(FORMATS)} (with .gz or .zst), or --output-format"
    )
