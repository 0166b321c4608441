"""Objects in S3, and in services with its interface."""

import hashlib
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinx_pipeline.optional import require
from jinx_pipeline.sample.remote.body import Body, TransferError

if TYPE_CHECKING:
    from obstore.store import S3Store

_CHUNK = 1 << 20
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")


@dataclass(frozen=True)
class S3Options:
    """How to connect to S3; values of None come from the environment, as in other programs.

    Attributes:
        region: The region.
        endpoint: The URL of another service with this interface.
        key_id: The name of an environment variable with the ID of the access key, after a `$`.
        key: The same for the access key.
        token: The same for the session token.
        seconds: How long the service may take for an answer.
    """

    region: str | None = None
    endpoint: str | None = None
    key_id: str | None = None
    key: str | None = None
    token: str | None = None
    seconds: float = 30.0


def variable(value: str) -> str | None:
    """The name of the environment variable in `$NAME` or `${NAME}`; None for anything else, which may be a secret."""
    match = _VARIABLE.fullmatch(value)
    return None if match is None else match[1]


def is_s3(url: str) -> bool:
    """Whether a URL names an object."""
    return url.startswith("s3://")


def parts(url: str) -> tuple[str, str]:
    """The bucket and the key of a URL.

    Raises:
        TransferError: It has no bucket or key.
    """
    bucket, _, key = url.removeprefix("s3://").partition("/")
    if not is_s3(url) or not bucket or not key:
        raise TransferError(f"{url}: not an object's URL; write s3://bucket/key")
    return bucket, key


class S3Source:
    """Reads objects from S3.

    Args:
        options: How it is reached.
    """

    def __init__(self, options: S3Options) -> None:
        self._options = options

    @contextmanager
    def open(self, url: str, start: int, validator: str) -> Generator[Body]:
        """See `Source.open`."""
        bucket, key = parts(url)
        store = _store(bucket, self._options)
        options: dict[str, Any] = {"range": {"offset": start}, "if_match": validator} if start and validator else {}
        try:
            result = _opened(store, key, options)
        except _errors() as error:
            raise _as_transfer_error(url, error) from None
        meta: Any = result.meta
        chunks = (bytes(chunk) for chunk in result.stream(min_chunk_size=_CHUNK))
        try:
            yield Body(result.range[0], meta["size"], meta.get("e_tag") or "", chunks)
        except _errors() as error:
            raise _as_transfer_error(url, error) from None

    def exists(self, url: str) -> bool:
        """Whether there is an object."""
        return self._head(url) is not None

    def upload(self, path: Path, url: str, *, skip_existing: bool) -> None:
        """Upload a file.

        Args:
            path: The file.
            url: The URL of the object.
            skip_existing: Whether an object that is there stays, if it is equal; another one is an error.

        Raises:
            TransferError: The file cannot be read, the service refuses, or there is another object.
        """
        bucket, key = parts(url)
        existing = self._head(url) if skip_existing else None
        if existing is not None:
            if not _is_equal(path, existing):
                raise TransferError(f"{url}: there is another object; use another s3_prefix, or skip_existing: false")
            return
        try:
            _obstore().put(_store(bucket, self._options), key, path)
        except _errors() as error:
            raise _as_transfer_error(url, error) from None

    def _head(self, url: str) -> Any:
        """Facts about an object; None if there is none."""
        bucket, key = parts(url)
        try:
            return _obstore().head(_store(bucket, self._options), key)
        except FileNotFoundError:
            return None
        except _errors() as error:
            raise _as_transfer_error(url, error) from None


def _opened(store: "S3Store", key: str, options: dict[str, Any]) -> Any:
    """An object from some byte on; or all of it, if its version is different or it ends there."""
    try:
        return _obstore().get(store, key, options=options)
    except FileNotFoundError:
        raise
    except _errors():
        if not options:
            raise
        return _obstore().get(store, key)


def _errors() -> tuple[type[Exception], ...]:
    return _obstore().exceptions.BaseError, OSError, ValueError


def _is_equal(path: Path, existing: Any) -> bool:
    """Whether a file has the size of an object, and its MD5 if the ETag is an MD5."""
    if path.stat().st_size != existing["size"]:
        return False
    tag = str(existing.get("e_tag") or "").strip('"')
    if not re.fullmatch("[0-9a-f]{32}", tag):
        return True
    with path.open("rb") as file:
        return hashlib.file_digest(file, partial(hashlib.md5, usedforsecurity=False)).hexdigest() == tag


@lru_cache(maxsize=64)
def _store(bucket: str, options: S3Options) -> "S3Store":
    obstore_store = require("obstore.store", extra="remote", what="S3")
    secrets = {"access_key_id": options.key_id, "secret_access_key": options.key, "session_token": options.token}
    config: dict[str, Any] = {name: _secret(value) for name, value in secrets.items() if value is not None}
    config |= {"region": options.region} if options.region else {}
    if options.endpoint:
        config |= {"endpoint": options.endpoint, "virtual_hosted_style_request": False}
    seconds = timedelta(seconds=options.seconds)
    client: Any = {"allow_http": (options.endpoint or "").startswith("http://"), "connect_timeout": seconds}
    retry: Any = {"max_retries": 3, "retry_timeout": seconds}
    return obstore_store.S3Store(bucket, client_options=client, retry_config=retry, **config)


def _secret(reference: str) -> str:
    name = variable(reference) or ""
    if name not in os.environ:
        raise TransferError(f"the environment variable {name} is not set")
    return os.environ[name]


def _obstore() -> Any:
    return require("obstore", extra="remote", what="S3")


def _as_transfer_error(url: str, error: Exception) -> TransferError:
    """An error without the details of the request, which may contain a signature."""
    if isinstance(error, FileNotFoundError):
        return TransferError(f"{url}: there is no such object")
    kind = type(error).__name__.removesuffix("Error")
    reason = re.sub(r"(?i)(signature|credential|token|key)[=:]\S+", r"\1=...", " ".join(str(error).split()))[:200]
    return TransferError(f"{url}: {kind}: {reason}", may_pass=kind == "Generic")


os.register_at_fork(after_in_child=_store.cache_clear)
