"""The token of a server that other machines can reach, stored in a file that only its owner can read."""

import hmac
import os
import secrets
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

_TOKEN_BYTES = 32
_LEAST_TOKEN = 16


def read_token(path: Path) -> str:
    """The token in a file; the file is created if it does not exist.

    Raises:
        ValueError: The token is too short, or others may read the file.
    """
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")
    if path.stat().st_mode & 0o077:
        raise ValueError(f"{path}: others may read it; run: chmod 600 {path}")
    token = path.read_text("ascii").strip()
    if len(token) < _LEAST_TOKEN or not token.isprintable() or " " in token:
        raise ValueError(f"{path}: a token has at least {_LEAST_TOKEN} characters and no spaces")
    return token


def secret_path(token: str) -> str:
    """The secret part of a URL: it does not reveal the token, and is the same whenever a server starts."""
    return hmac.new(token.encode(), b"page", sha256).hexdigest()[:32]
