"""URLs of datasets: which paths are URLs, which of them are local files, and how stores are reached."""

import os
from collections.abc import Mapping
from typing import Any

from jinx._sizes import parse_size

Source = str | os.PathLike[str]
# The schemes that the core reads directly; `convert` reads others through fsspec.
READABLE = ("s3", "gs", "az", "https", "http")
_SECRET = ("secret", "password", "token", "access_key", "account_key", "sas", "private_key", "service_account_key")


def is_url(path: str) -> bool:
    """Whether a path has the form of a URL, not of a local file."""
    return "://" in path


def is_readable(path: str) -> bool:
    """Whether a path is a URL that is read in place."""
    return path.partition("://")[0].lower() in READABLE if is_url(path) else False


def resolved(path: Any) -> Any:
    """One or several paths; `file://` URLs become paths, and `hf://` URLs get the current commits."""
    if isinstance(path, str):
        if path.startswith("hf://"):
            from jinx._hub import hub_url

            return hub_url(path)
        return _local(path) if path.startswith("file://") else path
    if isinstance(path, list | tuple):
        items: list[Any] = list(path)  # pyright: ignore[reportUnknownArgumentType]
        return [resolved(item) for item in items]
    return path


def _local(url: str) -> str:
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url)
    if parts.netloc not in {"", "localhost"} or parts.query or parts.fragment:
        raise ValueError(f"{url}: a file:// URL names a path of this machine, as in file:///data/train.jinx")
    return unquote(parts.path)


def storage_options(
    storage: Mapping[str, Any] | None, *, cache: Source | bool | None, cache_size: int | str | None
) -> dict[str, str]:
    """The options for stores and for the cache of what is read from them, in the form that the core expects.

    Raises:
        ValueError: An option holds a secret, which pickles would show.
    """
    options = {name: str(value) for name, value in (storage or {}).items()}
    for name in options:
        if any(word in name.lower() for word in _SECRET):
            raise ValueError(
                f"storage: {name} is a secret, and options are kept in pickles; set it in the environment, for "
                "instance AWS_SECRET_ACCESS_KEY"
            )
    if cache is False:
        options["cache"] = "off"
    elif cache is not None and cache is not True:
        options["cache"] = os.path.abspath(os.fsdecode(cache))  # noqa: PTH100 - str in, str out
    if cache_size is not None:
        options["cache_size"] = str(parse_size(cache_size))
    return options
