"""Decodes the media of a column on access: images with Pillow, audio with soundfile."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from jinx._media_types import media_type
from jinx._optional import require
from jinx._unpickle import rebuild
from jinx.errors import CorruptFileError, LimitError

Kind = Literal["pil", "numpy", "audio"]
DecodeSpec = bool | Mapping[str, Kind] | None

_BY_MEDIA: dict[str, Kind] = {"Image": "pil", "Audio": "audio"}


class MediaDecoder:
    """Decodes the binary values of one column as images or audio; other values pass unchanged.

    Args:
        column: The column's name, for messages.
        kind: `"pil"` gives a PIL image, `"numpy"` a uint8 array of shape (height, width[, channels]), `"audio"` a dict
            of a float32 array of shape (samples[, channels]) and its sampling rate in Hz. Arrays of JPEG, PNG and WebP
            images are decoded in Rust without the GIL (JPEG within the rounding that decoders differ by), all others
            by Pillow.
        paths: The paths of media in the column: members by name, None for any element of a list. Empty: all bytes.
    """

    def __init__(self, column: str, kind: Kind, paths: Sequence[Sequence[str | None]] = ()) -> None:
        self.column = column
        self.kind: Kind = kind
        self.paths = [list(path) for path in paths]

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("MediaDecoder", self.column, self.kind, self.paths)

    @property
    def gives_pixels(self) -> bool:
        """Whether the column itself contains images to decode to arrays, which the core does where it can."""
        return self.kind == "numpy" and all(not path for path in self.paths)

    def __call__(self, value: Any) -> Any:
        """A copy of the value with its media decoded."""
        if not self.paths:
            return self._anywhere(value)
        for path in self.paths:
            value = self._along(value, path)
        return value

    def _anywhere(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return self._decode(value)
        if isinstance(value, list):
            return [self._anywhere(element) for element in value]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, dict):
            return {name: self._anywhere(member) for name, member in value.items()}  # pyright: ignore[reportUnknownVariableType]
        return value

    def _along(self, value: Any, path: Sequence[str | None]) -> Any:
        if not path:
            return self._anywhere(value)
        step, remaining = path[0], path[1:]
        if step is None and isinstance(value, list):
            return [self._along(element, remaining) for element in value]  # pyright: ignore[reportUnknownVariableType]
        if step is not None and isinstance(value, dict) and step in value:
            members: dict[str, Any] = {**value}
            return {**members, step: self._along(members[step], remaining)}
        return value  # pyright: ignore[reportUnknownVariableType]

    def _decode(self, data: bytes) -> Any:
        from io import BytesIO

        if self.kind == "audio":
            soundfile = require("soundfile", extra="audio", what=f"decoding the audio of {self.column!r}")
            try:
                array, rate = soundfile.read(BytesIO(data), dtype="float32")
            except RuntimeError as error:
                raise CorruptFileError(f"{len(data)} bytes that are not audio: {error}") from error
            return {"array": array, "sampling_rate": rate}
        image = require("PIL.Image", extra="image", what=f"decoding the images of {self.column!r}")
        try:
            decoded = image.open(BytesIO(data))
            decoded.load()
        except image.DecompressionBombError as error:
            raise LimitError(f"{len(data)} bytes of an image that is too large: {error}") from error
        except MemoryError:
            raise
        except image.UnidentifiedImageError:  # the message names only the object in memory
            raise CorruptFileError(f"{len(data)} bytes that are not an image Pillow can read") from None
        except Exception as error:  # Pillow's parsers raise struct.error, IndexError and others
            raise CorruptFileError(f"{len(data)} bytes that are not an image Pillow can read: {error}") from error
        if self.kind == "numpy":
            import numpy as np

            return np.array(decoded)
        return decoded


Media = dict[str, list[tuple[str, list[str | None]]]]


def media_paths(stats: Sequence[Mapping[str, Any]]) -> Media:
    """For each column with media: the media type and the path inside the column, according to the footers."""
    media: Media = {}
    for entry in stats:
        if entry.get("media"):
            path = list(entry["path"])
            media.setdefault(path[0], []).append((str(entry["media"].get("type", "Image")), path[1:]))
    return media


def media_in(sample: Mapping[str, Any]) -> Media:
    """Like `media_paths`, but by the first bytes of a sample's values, for files whose writer did not declare media."""
    media: Media = {}
    for name in sample:
        places = list(dict.fromkeys(_places(sample[name], ())))
        if places:
            media[name] = [(kind, list(path)) for kind, path in places]
    return media


def _places(value: Any, path: tuple[str | None, ...]) -> Iterator[tuple[str, tuple[str | None, ...]]]:
    if isinstance(value, bytes):
        kind = media_type(value)
        if kind is not None:
            yield kind, path
    elif isinstance(value, list):
        for element in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _places(element, (*path, None))
    elif isinstance(value, dict):
        members: dict[str, Any] = {**value}
        for name, member in members.items():
            yield from _places(member, (*path, name))


def decoders_for(spec: DecodeSpec, media: Media) -> dict[str, Callable[[Any], Any]]:
    """The decoder for each column.

    Args:
        spec: True for all media, or the kind of each column.
        media: The paths of media in each column.

    Raises:
        TypeError: The spec is neither a bool nor a dict.
        ValueError: A kind is not known.
    """
    if spec is not None and not isinstance(spec, bool | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"decode={spec!r}: give True, or a dict such as {{'image': 'pil'}}")
    if spec is True:
        return {
            column: MediaDecoder(column, _BY_MEDIA.get(places[0][0], "pil"), [path for _, path in places])
            for column, places in media.items()
        }
    decoders: dict[str, Callable[[Any], Any]] = {}
    for column, kind in (spec or {}).items():
        if kind not in {"pil", "numpy", "audio"}:
            raise ValueError(f"decode={{{column!r}: {kind!r}}}: use 'pil', 'numpy' or 'audio'")
        decoders[column] = MediaDecoder(column, kind, [path for _, path in media.get(column, [])])
    return decoders


def kinds_of(decoders: Mapping[str, Any] | None) -> dict[str, Kind]:
    """What each column is decoded to."""
    return {column: decoder.kind for column, decoder in (decoders or {}).items()}


def joined_decoders(parts: Sequence[Mapping[str, Any] | None]) -> dict[str, Callable[[Any], Any]] | None:
    """Decoders for the samples of several datasets; all must decode the same columns to the same kinds."""
    decoders: dict[str, Callable[[Any], Any]] = {}
    for column, kind in kinds_of(parts[0]).items():
        paths = [part[column].paths for part in parts if part]
        # A decoder without paths decodes all values of bytes.
        union = [path for of_part in paths for path in of_part] if all(paths) else []
        decoders[column] = MediaDecoder(column, kind, [path for i, path in enumerate(union) if path not in union[:i]])
    return decoders or None
