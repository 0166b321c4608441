"""Encodes Python values for MDS columns as Streaming does; errors say what does not fit."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from io import BytesIO
from typing import Any

from jinx._optional import require
from jinx.errors import MismatchError, UnsupportedError

Encoder = Callable[[Any], bytes]

_CODES = {
    "uint8": 8,
    "int8": 9,
    "uint16": 16,
    "int16": 17,
    "float16": 18,
    "uint32": 32,
    "int32": 33,
    "float32": 34,
    "uint64": 64,
    "int64": 65,
    "float64": 66,
}
_INT64 = range(-(2**63), 2**63)
_MAX_DIMENSIONS = 63


def encoder_of(encoding: str) -> Encoder:
    """The function that encodes a column's values; `bytes` objects pass unchanged under any encoding.

    Args:
        encoding: The column's encoding, e.g. `"ndarray:float32"`.

    Raises:
        UnsupportedError: The encoding is not known.
    """
    encode = _encoder(encoding)
    return lambda value: value if isinstance(value, bytes) else encode(value)


def _encoder(encoding: str) -> Encoder:
    name, _, parameters = encoding.partition(":")
    if encoding in _PLAIN:
        return _PLAIN[encoding]
    if encoding in _CODES:
        return _scalar(encoding)
    if name == "ndarray":
        dtype, _, shape = parameters.partition(":")
        if dtype in {"", *_CODES}:
            return _array(dtype or None, tuple(int(size) for size in shape.split(",")) if shape else None)
    raise UnsupportedError(f"the encoding {encoding!r} is not known; there are {', '.join(sorted(_PLAIN))}, ...")


def _refuse(value: Any, wanted: str) -> MismatchError:
    return MismatchError(f"a value of type {type(value).__name__} where {wanted} belongs")


def _bytes(value: Any) -> bytes:
    raise _refuse(value, "bytes")


def _str(value: Any) -> bytes:
    if not isinstance(value, str):
        raise _refuse(value, "str")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise MismatchError("a str with lone surrogates; it has no UTF-8 form") from None


def _int(value: Any) -> bytes:
    if not isinstance(value, int):
        raise _refuse(value, "int")
    if value not in _INT64:
        raise MismatchError("an int of more than 64 bits; use the encoding 'str_int'")
    return value.to_bytes(8, "little", signed=True)


def _scalar(dtype: str) -> Encoder:
    import numpy as np

    kind = getattr(np, dtype)

    def encode(value: Any) -> bytes:
        try:
            return kind(value).tobytes()
        except (TypeError, ValueError, OverflowError) as error:
            raise MismatchError(f"{value!r:.60} is not a {dtype}: {error}") from None

    return encode


def _array(dtype: str | None, shape: tuple[int, ...] | None) -> Encoder:
    import numpy as np

    def encode(value: Any) -> bytes:
        if not isinstance(value, np.ndarray):
            raise _refuse(value, "a numpy array")
        array: Any = value  # pyright: ignore[reportUnknownVariableType]
        name = str(array.dtype.name)
        if name not in _CODES:
            raise MismatchError(f"an array of {name}, which MDS does not hold")
        if array.size == 0 or array.ndim == 0:
            raise MismatchError("an array without elements or dimensions, which MDS does not hold")
        parts: list[bytes] = []
        if dtype is None:
            parts.append(bytes([_CODES[name]]))
        elif name != dtype:
            raise MismatchError(f"an array of {name} in a column of {dtype}")
        if shape is None:
            parts.append(_shape(array.shape))
        elif array.shape != shape:
            raise MismatchError(f"an array of shape {array.shape} in a column of {shape}")
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        return b"".join([*parts, little.tobytes()])

    return encode


def _shape(shape: Sequence[int]) -> bytes:
    if len(shape) > _MAX_DIMENSIONS:
        raise MismatchError(f"an array of {len(shape)} dimensions; {_MAX_DIMENSIONS} are the most")
    width = next(width for width in range(4) if max(shape) < 1 << (8 << width))
    return bytes([len(shape) << 2 | width]) + b"".join(size.to_bytes(1 << width, "little") for size in shape)


def _text_of(kind: type) -> Encoder:
    def encode(value: Any) -> bytes:
        if not isinstance(value, kind):
            raise _refuse(value, kind.__name__)
        return str(value).encode()

    return encode


def _json(value: Any) -> bytes:
    import json

    plain = value.tolist() if hasattr(value, "tolist") and hasattr(value, "dtype") else value
    try:
        return json.dumps(plain).encode()
    except (TypeError, ValueError) as error:
        raise MismatchError(f"a value that JSON cannot hold: {error}") from None


def _word(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _image(value: Any) -> Any:
    pillow = require("PIL.Image", extra="image", what="writing images")
    if not isinstance(value, pillow.Image):
        raise _refuse(value, "a PIL image (or bytes)")
    return value


def _pil(value: Any) -> bytes:
    image = _image(value)
    mode = image.mode.encode()
    return _word(image.size[0]) + _word(image.size[1]) + _word(len(mode)) + mode + image.tobytes()


def _jpeg(value: Any) -> bytes:
    image = _image(value)
    # Write a JPEG file that was opened by name unchanged.
    if image.format == "JPEG" and getattr(image, "filename", None):
        try:
            with open(image.filename, "rb") as file:  # noqa: PTH123
                return file.read()
        except FileNotFoundError:
            pass
    return _saved(image, "JPEG")


def _png(value: Any) -> bytes:
    return _saved(_image(value), "PNG")


def _saved(image: Any, format: str) -> bytes:
    out = BytesIO()
    try:
        image.save(out, format=format)
    except OSError as error:
        raise MismatchError(f"an image that cannot be saved as {format}: {error}") from None
    return out.getvalue()


def _list_of(encode: Encoder) -> Encoder:
    def encode_list(value: Any) -> bytes:
        if not isinstance(value, list):
            raise _refuse(value, "a list")
        parts: list[bytes] = [encode(element) for element in value]  # pyright: ignore[reportUnknownVariableType]
        sizes = b"".join(_word(len(part)) for part in parts)
        return _word(0) + _word(len(parts)) + sizes + b"".join(parts)

    return encode_list


def _jpeg_array(value: Any) -> bytes:
    parts = [bytes(part) for part in value]
    if not parts:
        raise MismatchError("an empty jpeg_array, which Streaming does not read; use the encoding 'list[jpeg]'")
    return _word(len(parts)) + b"".join(_word(len(part)) for part in parts) + b"".join(parts)


def _pickle(value: Any) -> bytes:
    import pickle

    return pickle.dumps(value)


_PLAIN: dict[str, Encoder] = {
    "bytes": _bytes,
    "str": _str,
    "int": _int,
    "str_int": _text_of(int),
    "str_float": _text_of(float),
    "str_decimal": _text_of(Decimal),
    "json": _json,
    "pil": _pil,
    "jpeg": _jpeg,
    "png": _png,
    "jpeg_array": _jpeg_array,
    "jpegarray": _jpeg_array,
    "list[pil]": _list_of(_pil),
    "list[jpeg]": _list_of(_jpeg),
    "list[png]": _list_of(_png),
    "pkl": _pickle,
}
