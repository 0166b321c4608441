"""The viewer where its page is not opened on this machine: in notebooks, behind proxies, through tunnels."""

import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jinx
from jinx._view.server import ssh_line
from view_data import Served, until


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


_CELL = """
import jinx
view = jinx.open({path!r}).view(proxy=True)
view
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_in_a_real_notebook_behind_jupyter_server_proxy(browser: Any, served: Served, tmp_path: Path) -> None:
    """Set `JUPYTER_PYTHON` to a Python with jupyter-server-proxy, nbclient, ipykernel and what `jinx view` needs."""
    python = os.environ.get("JUPYTER_PYTHON")
    if python is None:
        pytest.skip("JUPYTER_PYTHON does not name a Python with Jupyter")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = [f"--ServerApp.port={port}", "--ServerApp.base_url=/base/", "--IdentityProvider.token=abc"]
    command = [python, "-m", "jupyter", "server", "--no-browser", "--allow-root", *options]
    script = tmp_path / "run.py"
    script.write_text(
        "import sys, nbformat\nfrom nbclient import NotebookClient\n"
        f"book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell({_CELL.format(path=str(served.path))!r})])\n"
        "client = NotebookClient(book, timeout=120)\n"
        "with client.setup_kernel():\n"
        "    client.execute_cell(book.cells[0], 0)\n"
        "    print(book.cells[0].outputs[0].data['text/html'], flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    environment = {**os.environ, "JUPYTERHUB_SERVICE_PREFIX": "/base/", "PYTHONWARNINGS": ""}
    plain = {name: value for name, value in environment.items() if name != "JUPYTERHUB_SERVICE_PREFIX"}
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        subprocess.Popen(command, env=plain, cwd=tmp_path, stderr=subprocess.DEVNULL) as server,
        subprocess.Popen([python, str(script)], env=environment, **pipes) as notebook,
    ):
        try:
            html = str(notebook.stdout.readline()) if notebook.stdout else ""
            source = re.findall(r'src="([^"]+)"', html)[0]
            assert source.startswith("/base/proxy/")
            _wait_for(port)
            _show(browser, port, source)
        finally:
            notebook.kill()
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


def _show(browser: Any, port: int, source: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{port}/base/api/status?token=abc")
    page.evaluate(
        "source => { const f = document.createElement('iframe'); f.src = source; document.body.append(f); }", source
    )
    frame = page.frame_locator("iframe")
    frame.locator(".picture.loaded").first.wait_for(timeout=60_000)
    assert frame.locator("#status strong").inner_text() == "10,000"
    context.close()
