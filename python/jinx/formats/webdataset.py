"""Samples into a WebDataset tar: the files of a sample follow one another and share their name."""

import io
import os
import tarfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jinx.media import media_bytes, suffix_of

# Fields that a tar's own suffixes made; they go back as they came.
_TEXTS = {"txt", "text", "transcript"}
_NUMBERS = {"cls", "cls2", "class", "count", "index", "inx", "id"}
_KEY = "__key__"


_COMPRESSED = (".gz", ".tgz")


def check_compression(out: str, codec: str | None) -> None:
    """A tar is compressed when its suffix says so.

    Raises:
        ValueError: The suffix or the option asks for another compression.
    """
    is_other = not out.endswith((".tar", *_COMPRESSED))
    if is_other or codec not in {None, "gz" if out.endswith(_COMPRESSED) else "none"}:
        raise ValueError(f"{out}: a tar is written as it is (.tar) or with gzip (.tar.gz, .tgz); choose by the suffix")


def write_tar(samples: Iterable[Mapping[str, Any]], out: str, tick: Callable[[int, int], None]) -> dict[str, int]:
    """Write samples to `out`, which has its name when it is complete; `.tar.gz` and `.tgz` are compressed.

    Bytes become a file `KEY.FIELD.SUFFIX` (`KEY.FIELD` where the field is named like a suffix), arrays `KEY.FIELD.npy`,
    all other values together `KEY.json`. The key is the sample's `__key__`, or its number.

    Args:
        samples: The samples.
        out: The tar.
        tick: Called with the number of samples and bytes after each one.

    Raises:
        TypeError: A value has no form in JSON.
    """
    folder, name = os.path.split(os.path.abspath(out))  # noqa: PTH100 - text in, text out
    work = os.path.join(folder, f".{name}.{os.getpid()}.tmp")  # noqa: PTH118
    count = 0
    try:
        with open(work, "wb") as file:  # noqa: PTH123
            mode = "w:gz" if out.endswith(_COMPRESSED) else "w"
            with tarfile.open(fileobj=file, mode=mode, format=tarfile.PAX_FORMAT) as tar:
                for count, sample in enumerate(samples, start=1):
                    key = str(sample.get(_KEY) or f"{count - 1:09d}")
                    try:
                        files = _files(sample)
                    except TypeError as error:
                        raise TypeError(f"sample {count - 1}, {error}") from None
                    for suffix, data in files:
                        member = tarfile.TarInfo(f"{key}.{suffix}")
                        member.size = len(data)
                        tar.addfile(member, io.BytesIO(data))
                    tick(count, file.tell())
            file.flush()
            os.fsync(file.fileno())
        size = os.path.getsize(work)  # noqa: PTH202
        os.replace(work, out)  # noqa: PTH105
    except OSError as error:
        error.filename = error.filename or out
        raise
    finally:
        if os.path.lexists(work):
            os.unlink(work)  # noqa: PTH108
    return {"rows": count, "bytes": size, "sidecar_bytes": 0, "shards": 1, "skipped": 0}


def _files(sample: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    """Suffix and content of each file of a sample."""
    files: list[tuple[str, bytes]] = []
    rest: dict[str, Any] = {}
    for name in sample:
        value = sample[name]
        data = media_bytes(value)
        if name == _KEY or value is None:
            continue
        if data is not None:
            suffix = suffix_of(data)
            files.append((name if f".{name.rpartition('.')[2]}" == suffix else f"{name}{suffix}", data))
        elif hasattr(value, "dtype") and getattr(value, "shape", ()):
            files.append((name if name.endswith("npy") else f"{name}.npy", _npy(value)))
        elif (
            _KEY in sample and name in (_TEXTS if isinstance(value, str) else _NUMBERS) and isinstance(value, str | int)
        ):
            files.append((name, str(value).encode()))
        else:
            rest[name] = value
    if set(rest) == {"json"} and isinstance(rest["json"], dict):
        rest = {**rest["json"]}
    if rest or not files:
        files.append(("json", _json_of(rest)))
    return files


def _json_of(fields: Mapping[str, Any]) -> bytes:
    try:
        return _json(fields)
    except TypeError:
        for name, value in fields.items():
            try:
                _json({name: value})
            except TypeError as error:
                raise TypeError(f"field {name!r}: {error}") from None
        raise


def _npy(value: Any) -> bytes:
    import numpy as np

    out = io.BytesIO()
    np.save(out, value, allow_pickle=False)
    return out.getvalue()


def _json(value: Mapping[str, Any]) -> bytes:
    import json
    from base64 import b64encode

    def shown(inner: Any) -> Any:
        if isinstance(inner, bytes):
            return {"$bytes": b64encode(inner).decode("ascii")}
        if hasattr(inner, "tolist") and isinstance(inner.tolist(), bool | int | float | str | list):
            return inner.tolist()
        raise TypeError(f"a value of type {type(inner).__name__} has no JSON form")

    return json.dumps(value, ensure_ascii=False, default=shown).encode()
