"""Databases of both kinds."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from jinx_pipeline.database.address import address_of
from jinx_pipeline.database.connection import connect
from pipeline.database.servers import Server


@pytest.fixture(scope="module")
def server():
    # As root, the server runs as another user, who may not enter the directories of tests.
    with TemporaryDirectory(prefix="jinx-postgresql-") as folder:
        server = Server(Path(folder))
        yield server
        server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path, monkeypatch):
    """The name of a database in recipes; that of the server holds no table."""
    if request.param == "sqlite":
        return str(tmp_path / "meta.db")
    server = request.getfixturevalue("server")
    monkeypatch.setenv("META_DB", server.url)
    connection = connect(address_of("env:META_DB"))
    connection._connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    connection.close()
    return "env:META_DB"
