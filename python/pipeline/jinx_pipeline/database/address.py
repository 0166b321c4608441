"""Addresses of databases: a file for SQLite, a URL for PostgreSQL, or an environment variable that holds either."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

_VARIABLE: Final = "env:"
_SQLITE: Final = "sqlite:///"
# Of libpq's other form of an address, which would be the name of a file.
_KEYWORDS: Final = re.compile(r"(^|\s)(host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*=")
_POSTGRES: Final = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Address:
    """The address of a database.

    Attributes:
        kind: The kind of database.
        target: The path of the file, or the URL.
    """

    kind: Literal["sqlite", "postgresql"]
    target: str


def address_of(database: str) -> Address:
    """The address that a recipe names.

    Args:
        database: The path of a SQLite file, `sqlite:///path`, `postgresql://host/name`, or `env:NAME`: the environment
            variable `NAME` has one of these.

    Raises:
        ValueError: It is no address, the variable is not set, or a recipe holds a password.
    """
    if database.startswith(_VARIABLE):
        name = database.removeprefix(_VARIABLE)
        value = os.environ.get(name)
        if not value:
            raise ValueError(f"{database}: the environment variable {name} is not set")
        return _parsed(value, shown=database)
    if database.startswith(_POSTGRES) and _has_password(database):
        raise ValueError(
            "the URL has a password, which would be in plans and logs; put the URL into an environment variable and "
            "write env:NAME, or set PGPASSWORD"
        )
    return _parsed(database, shown=database)


def _parsed(value: str, shown: str) -> Address:
    if value.startswith(_POSTGRES):
        return Address("postgresql", value)
    path = value.removeprefix(_SQLITE)
    if path == value and _KEYWORDS.search(value):
        raise ValueError(f"{shown}: write the connection as a URL: postgresql://user@host:port/name")
    if "://" in path or not Path(path).name:
        raise ValueError(f"{shown}: a database is the path of a SQLite file, or a URL that begins with postgresql://")
    return Address("sqlite", path)


def _has_password(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.password) or "password=" in parts.query
