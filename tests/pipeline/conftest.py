"""A service in a thread."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from service_client import TOKEN, Client, made_roots


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Starts services over `tmp_path/data` and `tmp_path/results`; each call ends the one before."""
    from jinx_pipeline.service.jobs import JobLimits
    from jinx_pipeline.service.server import Server
    from jinx_pipeline.service.workplace import Workplace

    running: list[Any] = []

    def end() -> None:
        for server, thread in running:
            server.stop()
            thread.join(30)
            assert not thread.is_alive()
        running.clear()

    def start(
        *,
        allow: tuple[str, ...] = (),
        mcp: Any = None,
        state: str | Path = tmp_path / "state",
        host: str = "127.0.0.1",
        names: tuple[str, ...] = (),
        **limits: Any,
    ) -> Client:
        end()
        if not (tmp_path / "data").exists():
            made_roots(tmp_path)
        chosen = JobLimits(**{"workers": 1, **limits})
        place = Workplace.open(
            Path(state),
            {"data": tmp_path / "data"},
            {"results": tmp_path / "results"},
            allow=allow,
            limits=chosen,
        )
        server = Server(place, TOKEN, host=host, names=names, mcp=None if mcp is None else mcp(place))
        running.append((server, server.start()))
        client = Client(server.url)
        client.page = server.page  # type: ignore[attr-defined]
        client.place = place  # type: ignore[attr-defined]
        return client

    yield start
    end()
