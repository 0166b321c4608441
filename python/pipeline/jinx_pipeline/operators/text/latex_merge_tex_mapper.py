"""Joins the LaTeX files of an archive: the operator `latex_merge_tex_mapper`."""

import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from lzma import LZMAError
from typing import IO, Annotated, Any, Final

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, with_metadata
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import NotEmpty, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.sample.media import Media, MediaError

# An archive is refused if it expands to this many times `max_total_size`.
_MOST_EXPANDED: Final = 16
_MOST_WITHOUT_LIMIT: Final = 1 << 34
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError, RuntimeError)


@register("latex_merge_tex_mapper", modality="text")
class LatexMergeTexMapper(Mapper):
    """Makes a text of the `.tex` files in an archive (tar, also compressed, or zip), in the order of the archive.

    Files are UTF-8, or Latin-1 if they are not valid UTF-8. A file above `max_file_size` is left out; when
    `max_total_size` is reached, so are all that follow. `__dj__meta__.tex_files` and `tex_files_left_out` count them. A
    sample whose archive is missing, damaged or expands without bounds is an error.

        create("latex_merge_tex_mapper", compressed_file_key="path")

    Attributes:
        compressed_file_key: The column with the path of an archive, or its bytes.
        separator: The text between files.
        max_file_size: The largest size of a file in bytes; 0 or None for no limit.
        max_total_size: The largest size of all files in bytes; 0 or None for no limit.
    """

    compressed_file_key: Annotated[str, NotEmpty()] = "compressed_file"
    separator: str = "\n\n"
    max_file_size: Annotated[int, Range(0)] | None = 50 * 1024 * 1024
    max_total_size: Annotated[int, Range(0)] | None = 100 * 1024 * 1024

    batch_size = 16

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.compressed_file_key, META)

    @property
    def writes(self) -> tuple[str, ...]:
        return ("text", META)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        texts: list[str] = []
        facts: list[dict[str, int]] = []
        for value in ctx.each(batch.column(self.compressed_file_key)):
            medium = Media(value, batch.roles)
            try:
                files, left_out = self._files(medium.bytes)
            except _BROKEN as error:
                raise MediaError(f"{medium!r} is a damaged archive: {error}") from error
            texts.append(self.separator.join(files))
            facts.append({"tex_files": len(files), "tex_files_left_out": left_out})
        return {batch.roles.column("text"): texts, **with_metadata(batch.samples(), facts)}

    def _files(self, data: bytes) -> tuple[list[str], int]:
        """The texts of files, and the number of files left out."""
        files: list[str] = []
        total = left_out = 0
        limit, room = self.max_file_size or _MOST_WITHOUT_LIMIT, self.max_total_size or _MOST_WITHOUT_LIMIT
        is_full = False
        for file in _members(data, room * _MOST_EXPANDED):
            # The sizes in headers cannot be trusted.
            content = b"" if is_full else file.read(min(limit, room - total) + 1)
            if is_full or len(content) > limit:
                left_out += 1
            elif total + len(content) > room:
                is_full = True
                left_out += 1
            else:
                total += len(content)
                files.append(_decoded(content))
        return files, left_out


def _members(data: bytes, most: int) -> Iterator[IO[bytes]]:
    """The `.tex` files of an archive.

    Args:
        data: The archive.
        most: The maximum number of bytes to which it may expand.

    Raises:
        MediaError: It is not an archive, or expands to more.
    """
    if zipfile.is_zipfile(BytesIO(data)):
        with zipfile.ZipFile(BytesIO(data)) as archive:
            for info in archive.infolist():
                if not info.is_dir() and _is_tex(info.filename):
                    with archive.open(info) as file:
                        yield file
        return
    try:
        archive = tarfile.open(fileobj=BytesIO(data), mode="r|*")  # noqa: SIM115 - closed below
    except tarfile.ReadError:
        raise MediaError(f"{len(data)} bytes are not a tar or zip archive") from None
    expanded = 0
    with archive:
        for member in archive:
            expanded += member.size
            if expanded > most:
                raise MediaError(f"an archive of {len(data):,} bytes expands to more than {most:,}")
            file = archive.extractfile(member) if member.isreg() and _is_tex(member.name) else None
            if file is not None:
                yield file


def _is_tex(name: str) -> bool:
    # macOS adds `._` files, which are not text.
    return name.lower().endswith(".tex") and not name.rpartition("/")[2].startswith("._")


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")
