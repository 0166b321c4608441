"""A PostgreSQL server for tests, which can be killed and started again."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest


class Server:
    """A server in a directory of its own.

    Attributes:
        url: Its URL.
    """

    def __init__(self, folder: Path) -> None:
        self._pgserver = pytest.importorskip("pgserver", reason="pgserver is not installed: requirements/test.txt")
        pytest.importorskip("psycopg", reason="psycopg is not installed: requirements/test.txt")
        self._folder = folder
        self._server: Any = None
        self.start()
        self.url = self._server.get_uri()

    def start(self) -> None:
        """Start it, after a crash too."""
        self._server = self._pgserver.get_server(self._folder, cleanup_mode="stop")

    def kill(self) -> None:
        """Kill it, as a power failure would."""
        pid = int((self._folder / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGKILL)
        # Its other processes end by themselves.
        for _ in range(200):
            if not Path(f"/proc/{pid}").exists():
                break
            time.sleep(0.05)
        type(self._server)._instances.pop(self._folder, None)

    def stop(self) -> None:
        """Stop it."""
        self._server.cleanup()

    def run(self, statement: str) -> None:
        """Run a statement of SQL."""
        self._server.psql(f"{statement};")
