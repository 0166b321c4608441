"""Errors, JSON and small rules that every part of the second reader shares."""

import json
import math
import re

import xxhash


class JinxError(Exception):
    pass


class CorruptFileError(JinxError):
    pass


class TruncatedFileError(JinxError):
    pass


class LimitError(JinxError):
    pass


class UnsupportedError(JinxError):
    pass


class MismatchError(JinxError):
    pass


class Members(list):
    """A JSON object as (key, value) pairs."""


TYPES, CODECS = {"str", "raw", "npy", "np", "pt"}, {"zst", "gz", "br", "bz2", "lz4", "lzma", "xz", "snappy"}
INTS = {f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)}
FLOATS = {"float32", "float64"}
MAX_VALUE, MAX_DEPTH, MAX_DIGITS, MAX_CODECS, BLANKS = 2 << 30, 256, 4300, 3, b" \t\r\n"
MAGIC = b"\x89BINX\r\n\x1a"


def need(condition: object, what: str, error: type[JinxError] = CorruptFileError) -> None:
    if not condition:
        raise error(what)


def parse(data: bytes, unique: bool = False, max_depth: int = MAX_DEPTH) -> object:
    def integer(text: str) -> int:
        need(len(text.lstrip("-")) <= MAX_DIGITS, "integer too long", LimitError)
        return int(text)

    def number(text: str) -> float:
        need(math.isfinite(float(text)), f"number {text} is out of range")
        return float(text)

    def members(pairs: list) -> Members:
        need(not unique or len({key for key, _ in pairs}) == len(pairs), "a name occurs twice")
        return Members(pairs)

    depth = 0
    for mark in re.findall(rb"[\[\]{}]", re.sub(rb'"(?:[^"\\]|\\.)*"', b"", data)):
        depth += 1 if mark in b"[{" else -1
        need(depth <= max_depth, "nesting too deep", LimitError)
    try:
        value = json.loads(
            data.decode(), object_pairs_hook=members, parse_int=integer, parse_float=number, parse_constant=number
        )
        json.dumps(value, ensure_ascii=False).encode()  # lone surrogates fail here
    except ValueError as error:
        raise CorruptFileError(str(error)) from error
    return value


def plain(value: object) -> object:
    if isinstance(value, Members):
        return {key: plain(item) for key, item in value}
    return [plain(item) for item in value] if isinstance(value, list) else value


def parse_object(data: bytes, what: str) -> dict:
    try:
        value = plain(parse(data, unique=True, max_depth=128))
    except LimitError as error:
        raise CorruptFileError(f"{what}: {error}") from error
    need(isinstance(value, dict), f"{what} is not an object")
    return value


def is_uint(value: object) -> bool:
    return type(value) is int and value >= 0


def member(table: dict, name: str, kind: type) -> object:
    value = table.get(name)
    need(is_uint(value) if kind is int else isinstance(value, kind), f"member {name} is missing or of the wrong type")
    return value


def check_digest(data: bytes, table: dict, required: bool) -> None:
    tail = re.search(rb',"digest":"([0-9a-f]{16})"}$', data)
    need(tail or not required, "no digest at the end")
    need(not tail or xxhash.xxh3_64_hexdigest(data[: tail.start()]) == tail[1].decode(), "digest does not match")
    if required:
        need(not member(table, "features_required", list), "unknown required feature", UnsupportedError)


def version_of(table: dict) -> tuple[int, int]:
    version = table.get("version", "1.0")
    text = re.fullmatch(r"(\d+)\.(\d+)", version if isinstance(version, str) else "")
    need(text, "version is malformed")
    need(text[1] == "1", "unknown major version", UnsupportedError)
    return 1, int(text[2])


def check_name(name: object) -> None:
    size = len(name.encode()) if isinstance(name, str) else 0
    evil = r"[/\\\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]|^[A-Za-z]:"
    need(
        0 < size < 256 and name == name.strip() and not name.endswith(".") and not re.search(evil, name),
        "evil file name",
    )
