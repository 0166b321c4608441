"""The images, audios and videos of a sample, which are read on access and decoded once."""

import os
import stat
from base64 import b64decode
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, overload

from jinx._dataset.stored_ranges import StoredRange
from jinx_pipeline.sample.bucket_media import info_of, object_at, opened_object
from jinx_pipeline.sample.media_files import record_object, recorded
from jinx_pipeline.sample.media_from_urls import fetch, is_url
from jinx_pipeline.sample.paths import Steps, find
from jinx_pipeline.sample.sidecar_media import buffered
from jinx_pipeline.store.mirror import ObjectError, StoreError

if TYPE_CHECKING:
    from PIL.Image import Image

    from jinx._object_store import ObjectInfo
    from jinx_pipeline.sample.roles import Role, Roles

T = TypeVar("T")

# The EXIF tag of the orientation, and the values that exchange width and height.
_ORIENTATION = 0x0112
_ON_THEIR_SIDE = frozenset({5, 6, 7, 8})

# For each role, the keys under which the parts of a message may contain a medium.
PARTS: dict[str, tuple[str, ...]] = {
    "images": ("image", "image_url"),
    "audios": ("audio", "audio_url", "input_audio"),
    "videos": ("video", "video_url"),
}


class MediaError(ValueError):
    """Raised when a medium is missing or invalid."""


class Media:
    """One image, audio or video, as bytes, a path or a URL.

    Args:
        value: Bytes, a path or URL (`data:` URLs in base64 too), or a dict with `bytes` and `path`, with `url`, or with
            `data` in base64.
        roles: The media root, and the allowed hosts and buckets for URLs.
    """

    def __init__(self, value: Any, roles: "Roles") -> None:
        self._roles = roles
        self._data: bytes | None = None
        self._image: Image | None = None
        self._is_loaded = False
        self._range: StoredRange | None = None
        self._facts: dict[Hashable, Any] = {}
        self._info: ObjectInfo | None = None
        self.path: str | None = None
        data, path = _data_and_path(value)
        if isinstance(data, bytes | bytearray | memoryview):
            self._data = bytes(data)
        elif isinstance(data, StoredRange):
            self._range = data
        elif isinstance(path, str) and path.startswith("data:"):
            self._data = _decoded(path.partition(",")[2])
        elif isinstance(path, str):
            self.path = path
        if self._data is None and self.path is None and self._range is None:
            raise MediaError(f"a medium is bytes, a path or a dict of them, not {type(value).__name__}")

    def __repr__(self) -> str:
        return f"Media({self.path or f'{self.size} bytes'})"

    @property
    def file(self) -> Path | None:
        """The file of the medium; None if it is not in a file."""
        has_none = self._data is not None or self.path is None or is_url(self.path) or self.stored_url is not None
        return None if has_none else recorded(self._roles.media_path(str(self.path)))

    @property
    def stored_url(self) -> str | None:
        """The URL of the medium in a bucket; None if it is not in one.

        Raises:
            MediaError: It may not be read.
        """
        return None if self._data is not None or self.path is None else self._roles.media_url(self.path)

    @property
    def bytes(self) -> bytes:
        """The stored bytes of the medium.

        Raises:
            MediaError: The medium cannot be read.
        """
        if self._data is not None:
            return self._data
        if self._range is not None:
            with self.stream() as stream:
                return stream.read()
        path = self.path or ""
        if is_url(path):
            self._data = fetch(path, self._roles)
            return self._data
        url = self.stored_url
        try:
            if url is None:
                return _read(recorded(self._roles.media_path(path)))
            found = object_at(url)
        except OSError as error:
            raise self._unread(error) from error
        record_object(url, found.tag)
        self._data = found.data
        return self._data

    @property
    def size(self) -> int:
        """The size in bytes; files are not read."""
        if self._range is not None:
            return self._range.length
        file, url = self.file, self.stored_url
        try:
            if url is not None:
                return self._stored(url).size
            return len(self.bytes) if file is None else file.stat().st_size
        except OSError as error:
            raise self._unread(error) from error

    @property
    def dimensions(self) -> tuple[int, int]:
        """Width and height in pixels of an image as shown, from its header; nothing is decoded."""
        opened = self._opened()
        width, height = opened.size
        return (height, width) if _is_turned(opened) else (width, height)

    def image(self) -> "Image":
        """The decoded image; it is shared, so copy it before changing it.

        Raises:
            MediaError: The medium is not an image.
        """
        opened = self._opened()
        if not self._is_loaded:
            try:
                opened.load()
            except Exception as error:  # Pillow's parsers raise struct.error, IndexError and others
                raise MediaError(_unreadable(self, error)) from error
            self._is_loaded = True
        return opened

    def stream(self) -> BinaryIO:
        """A seekable file object that reads only what is requested; the caller closes it.

        Files, objects in buckets and values in the sidecar of a dataset are read by range. Other media are already in
        memory, or are read as a whole (from web servers).

        Raises:
            MediaError: The medium cannot be opened, or is not a regular file.
        """
        file, url = self.file, self.stored_url
        try:
            if url is not None:
                return opened_object(self._stored(url))
            if self._range is not None:
                return buffered(self._range)
            return BytesIO(self.bytes) if file is None else _opened_file(file)
        except OSError as error:
            raise self._unread(error) from error

    def fact(self, key: Hashable, make: "Callable[[Media], T]") -> T:
        """A small value that several operators need, such as the facts of a video's header; `make` computes it once.

        Args:
            key: Distinguishes the values of a medium.
            make: Computes the value from the medium.
        """
        if key not in self._facts:
            self._facts[key] = make(self)
        return self._facts[key]

    def has_fact(self, key: Hashable) -> bool:
        """Whether `fact` has a value for this key."""
        return key in self._facts

    def _stored(self, url: str) -> "ObjectInfo":
        if self._info is None:
            self._info = info_of(url)
            record_object(url, self._info.tag)
        return self._info

    def _unread(self, error: OSError) -> Exception:
        """The error for a medium that could not be read; a store that fails concerns all rows."""
        if isinstance(error, StoreError):
            return error
        reason = str(error) if isinstance(error, ObjectError) else f"{self.path}: {error.strerror or error}"
        return MediaError(reason)

    def _opened(self) -> "Image":
        if self._image is None:
            from jinx_pipeline.optional import require

            pil = require("PIL.Image", extra="image", what="Reading images")
            data = self.bytes
            try:
                opened: Image = pil.open(BytesIO(data))
            except Exception as error:
                raise MediaError(_unreadable(self, error)) from error
            self._image = opened
        return self._image


def _is_turned(image: "Image") -> bool:
    """Whether an image's EXIF data say that width and height are exchanged for display."""
    if image.format == "TIFF" or (image.format == "PNG" and "exif" not in image.info):
        return False  # Pillow itself turns TIFFs, and would decode a whole PNG to look for data after the pixels
    try:
        return image.getexif().get(_ORIENTATION) in _ON_THEIR_SIDE
    except Exception:  # noqa: BLE001 - Pillow raises struct.error, SyntaxError and others for damaged data
        return False


class MediaList(Sequence[Media]):
    """The media of one sample at a path, which is read on access.

    Args:
        column: Returns the value of the top-level column.
        steps: The path of the media in it.
        role: The kind of media, for lists of content parts with several kinds.
        roles: See `Media`.
    """

    def __init__(self, column: Callable[[], Any], steps: Steps, role: "Role", roles: "Roles") -> None:
        self._column, self._steps, self._roles = column, steps, roles
        self._role: Role = role
        self._items: list[Media] | None = None

    @overload
    def __getitem__(self, index: int) -> Media: ...
    @overload
    def __getitem__(self, index: slice) -> list[Media]: ...
    def __getitem__(self, index: int | slice) -> Media | list[Media]:
        return self._read()[index]

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Iterator[Media]:
        return iter(self._read())

    def _read(self) -> list[Media]:
        if self._items is None:
            values = find(self._column(), self._steps)
            media = [medium for value in values for medium in media_values(value, self._role)]
            self._items = [Media(medium, self._roles) for medium in media]
        return self._items


def _unreadable(medium: Media, error: Exception) -> str:
    """Pillow's message about an image; for a decompression bomb, with the number of pixels and the limit."""
    reason = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, OSError) and "cannot identify image file" in reason:
        reason = "its format is unknown"  # Pillow's own message contains the address of our buffer
    return f"{medium!r} is not an image that Pillow can read: {reason}"


def _data_and_path(value: Any) -> tuple[Any, Any]:
    if isinstance(value, str):
        return None, value
    if not isinstance(value, Mapping):
        return value, None
    data, path = value.get("bytes"), value.get("path") or value.get("url")
    if data is None and isinstance(value.get("data"), str):  # audio as in messages of OpenAI's API
        data = _decoded(value["data"])
    return data, path


def _read(path: Path) -> bytes:
    """The bytes of a regular file; a pipe or a device might block or never end.

    Raises:
        MediaError: The file is not a regular file.
        OSError: The file cannot be read.
    """
    with _opened_file(path) as file:
        return file.read()


def _opened_file(path: Path) -> BinaryIO:
    # Non-blocking, so that opening a pipe without a writer does not hang, and the pipe is refused.
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: PTH123, SIM115 - opened from a descriptor
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise MediaError(f"{path}: not a regular file; media are read only from regular files")
    return file


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise MediaError(f"a medium in base64 that does not decode: {error}") from None


def media_of(sample: Mapping[str, Any], role: "Role", roles: "Roles") -> MediaList:
    """The media of a sample."""
    steps = roles.steps(role)
    return MediaList(lambda: sample.get(str(steps[0])), steps[1:], role, roles)


def media_values(value: Any, role: "Role") -> list[Any]:
    """The media in a value: the value itself, the elements of a list, or the content parts of this kind."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [medium for element in value for medium in media_values(element, role)]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Mapping) and "type" in value:
        medium = next((value[name] for name in PARTS[role] if value.get(name) is not None), None)  # pyright: ignore[reportUnknownMemberType]
        return media_values(medium, role)
    if isinstance(value, str) and not value:
        return []
    return [value]
