"""Divides a source for conversion; the pieces depend only on its files, so every run has the same ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from jinx._convert.formats import FormatName
from jinx._convert.inputs import find_inputs
from jinx._convert.splits import splits_of

PIECE_BYTES: Final = 128_000_000
# The suffixes of files in which each line is a sample.
LINES: Final = (".jsonl", ".ndjson", ".jsonlines")
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class Piece:
    """A file, or the lines in a file that begin within a range.

    Attributes:
        path: The file.
        format: The format, as `jinx.convert` names it.
        start: The first byte of the range.
        stop: The end of the range; None if the piece is the whole file.
    """

    path: str
    format: FormatName
    start: int = 0
    stop: int | None = None


def pieces_of(source: str) -> list[Piece]:
    """The pieces of a source, in order; empty if it cannot be divided.

    Each file is one piece, also if it is compressed or an archive; a large file of JSON lines is divided at line ends.

    Raises:
        FileNotFoundError: The source does not exist.
        ValueError: Its files have different formats.
    """
    if "://" in source:
        return []
    inputs = find_inputs([source])
    if Path(source).is_dir() and len(splits_of(source, inputs.files)) > 1:
        return []  # each split would be a separate dataset; the conversion reports this
    # The shards of a directory are paths, others are names.
    return [piece for file in inputs.files for piece in _of_file(str(file), cast("FormatName", inputs.format))]


def _of_file(path: str, kind: FormatName) -> list[Piece]:
    size = Path(path).stat().st_size
    if size <= PIECE_BYTES or not path.lower().endswith(LINES) or not _begins_with_object(path):
        return [Piece(path, kind)]
    return [Piece(path, kind, start, min(start + PIECE_BYTES, size)) for start in range(0, size, PIECE_BYTES)]


def _begins_with_object(path: str) -> bool:
    """Whether a file begins with a JSON object in UTF-8, as opposed to an array or another encoding."""
    with Path(path).open("rb") as file:
        return file.read(_CHUNK).lstrip()[:1] == b"{"


def lines_of(file: IO[bytes], start: int, stop: int) -> Iterator[bytes]:
    """The lines that begin within a range, as chunks of bytes."""
    start, stop = (_line_start(file, place) for place in (start, stop))
    file.seek(start)
    while start < stop:
        data = file.read(min(_CHUNK, stop - start))
        if not data:
            return
        start += len(data)
        yield data


def _line_start(file: IO[bytes], place: int) -> int:
    """The first offset at or after `place` where a line begins; the end of the file if there is none."""
    if place == 0:
        return 0
    place -= 1
    file.seek(place)
    while data := file.read(_CHUNK):
        if (end := data.find(b"\n")) >= 0:
            return place + end + 1
        place += len(data)
    return place
