"""The viewer where its page is not opened on this machine: in notebooks, behind proxies, through tunnels."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import jinx
from jinx._viewer.server import ssh_line
from view_data import PATIENCE_MS, Served, until


@pytest.fixture
def tunnel(served: Served) -> Iterator[int]:
    """A port that leads to the viewer's, as `ssh -L` makes one."""
    target = int(re.findall(r":(\d+)/", served.url)[0])
    listener = socket.create_server(("127.0.0.1", 0))
    ends: list[socket.socket] = []

    def pump(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def accept() -> None:
        try:
            while True:
                near, far = listener.accept()[0], socket.create_connection(("127.0.0.1", target))
                ends.extend((near, far))
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=(one, other), daemon=True).start()
        except OSError:
            return

    threading.Thread(target=accept, daemon=True).start()
    yield listener.getsockname()[1]
    for end in (listener, *ends):
        end.close()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_through_a_tunnel(browser: Any, served: Served, tunnel: int, name: str) -> None:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    secret = served.url.rstrip("/").rpartition("/")[2]
    page.goto(f"http://{name}:{tunnel}/{secret}/?sample=3")
    page.wait_for_selector(".bubble.user .picture.loaded")
    assert page.url.startswith(f"http://{name}:{tunnel}/")
    context.close()


def test_the_line_for_ssh() -> None:
    told = {"SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22", "USER": "anna"}
    assert ssh_line(41017, told.get) == f"ssh -N -L 41017:127.0.0.1:41017 anna@{socket.gethostname()}"
    assert ssh_line(41017, {}.get) is None


def test_another_interface_needs_a_token(served: Served, tmp_path: Path) -> None:
    token = tmp_path / "token"
    command = [sys.executable, "-m", "jinx", "view", str(served.path), "--no-open", "--host", "0.0.0.0"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "--token-file FILE" in refused.stderr
    secrets: set[str] = set()
    for _ in range(2):
        named = [*command, "--token-file", str(token), "--host-name", "data.example.org"]
        with subprocess.Popen(named, stdout=subprocess.PIPE, text=True) as viewer:
            try:
                url = (viewer.stdout.readline() if viewer.stdout else "").strip()
                port, secret = re.fullmatch(r"http://data\.example\.org:(\d+)/(\w+)/", url).groups()  # type: ignore[union-attr]
                secrets.add(secret)
                for host, status in (("data.example.org", 200), (socket.gethostname(), 200), ("evil.test", 400)):
                    assert asked(int(port), f"/{secret}/about", host) == status
                assert asked(int(port), "/about", "data.example.org") == 404
            finally:
                viewer.terminate()
    # The address stays the same, and does not tell the token.
    assert len(secrets) == 1
    assert secrets.isdisjoint({token.read_text().strip()})
    assert token.stat().st_mode & 0o777 == 0o600
    token.chmod(0o644)
    refused = subprocess.run([*command, "--token-file", str(token)], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "others may read it" in refused.stderr


def asked(port: int, path: str, host: str) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"Host": f"{host}:{port}"})
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_notebook_shows_a_frame(page: Any, served: Served) -> None:
    view = jinx.open(served.path).filter("score > 0.5").view(where="width > 300", sort="-score")
    try:
        html = view._repr_html_()
        source = re.findall(r'src="([^"]+)"', html)[0]
        assert source == view.url.replace("&", "&amp;")
        # A frame of another page.
        page.goto(f"{served.url}page/icon.svg")
        page.goto(view.url)
        kept = [s for s in served.samples if s["score"] > 0.5 and s["width"] > 300]
        until(page, "n => document.querySelector('#status .total strong')?.textContent === n", f"{len(kept):,}")
        page.get_by_role("button", name="Copy as Python").click()
        code = page.locator("dialog pre").inner_text()
        # The dataset is a selection, which its path does not tell.
        assert code.splitlines() == ["ds = ds.filter('width > 300')", "ds = ds.sort('-score')"]
    finally:
        view.close()


def test_a_notebook_under_a_hub_goes_through_its_proxy(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    ds = jinx.open(served.path)
    for hub, proxy, start in (("/user/anna/", None, "/user/anna/proxy/"), ("", True, "/proxy/")):
        monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", hub)
        view = ds.view(proxy=proxy)
        source = re.findall(r'src="([^"]+)"', view._repr_html_())[0]
        port, secret = re.findall(r":(\d+)/([^/]+)/", view.url)[0]
        assert source == f"{start}{port}/{secret}/"
        view.close()


def test_the_address_of_a_notebooks_server_is_found(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JUPYTERHUB_SERVICE_PREFIX", raising=False)
    paths = SimpleNamespace(jupyter_runtime_dir=lambda: str(tmp_path))
    monkeypatch.setitem(sys.modules, "jupyter_core", SimpleNamespace(paths=paths))
    monkeypatch.setitem(sys.modules, "jupyter_core.paths", paths)
    (tmp_path / "jpserver-17.json").write_text('{"base_url": "/lab/anna/", "pid": 17}')
    (tmp_path / "jpserver-18.json").write_text("{")
    for pid, start in (("17", "/lab/anna/proxy/"), ("18", "/proxy/"), ("19", "/proxy/")):
        monkeypatch.setenv("JPY_PARENT_PID", pid)
        view = jinx.open(served.path).view(proxy=True)
        assert f'src="{start}' in view._repr_html_()
        view.close()


_CELL = "import jinx\njinx.open({path!r}).view(proxy=True, height=500)"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_in_a_real_notebook_behind_jupyter_server_proxy(browser: Any, served: Served, tmp_path: Path) -> None:
    """Set `JUPYTER_PYTHON` to a Python with notebook, jupyter-server-proxy and what `jinx view` needs."""
    python = os.environ.get("JUPYTER_PYTHON")
    if python is None:
        pytest.skip("JUPYTER_PYTHON does not name a Python with Jupyter")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "id": "one"}
    book = {"cells": [{**cell, "source": _CELL.format(path=str(served.path))}], "metadata": {"kernelspec": kernel}}
    (tmp_path / "a.ipynb").write_text(json.dumps({**book, "nbformat": 4, "nbformat_minor": 5}))
    options = [f"--ServerApp.port={port}", "--ServerApp.base_url=/base/", "--IdentityProvider.token=abc"]
    command = [python, "-m", "jupyter", "notebook", "--no-browser", "--allow-root", *options]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(port)
            _run_and_look(browser, f"http://127.0.0.1:{port}/base/notebooks/a.ipynb?token=abc")
        finally:
            server.terminate()


def _wait_for(port: int) -> None:
    limit = time.monotonic() + 120
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert time.monotonic() < limit
            time.sleep(1)
        else:
            return


def _run_and_look(browser: Any, address: str) -> None:
    """Run the only cell of a notebook, and use the viewer below it."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.goto(address)
    cell = page.locator(".jp-CodeCell .cm-content").first
    shown = page.locator("iframe[title='jinx view']")
    limit = time.monotonic() + 120
    # What is run before the page has reached its kernel is lost, and nothing on the page says when it has.
    while not shown.count():
        assert time.monotonic() < limit
        cell.click()
        page.keyboard.press("Control+Enter")
        page.wait_for_timeout(6_000)
    frame = page.frame_locator("iframe[title='jinx view']")
    frame.locator(".picture.loaded").first.wait_for(timeout=60_000)
    assert shown.get_attribute("src").startswith("/base/proxy/")
    assert frame.locator("#status strong").inner_text() == "10,000"
    frame.locator("#where").fill("score > 2")
    frame.locator("#where").press("Enter")
    frame.locator(".empty").wait_for(timeout=30_000)
    context.close()
