"""What a person waits for: measured in Chromium, and at the server."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote
from urllib.request import urlopen

from bench.view.data import RARE_WORD

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SCROLL_SECONDS = 10
_FRAMES = """seconds => new Promise(done => {
  const list = document.getElementById('list'), times = [];
  const start = performance.now();
  let last = start;
  const step = now => {
    times.push(now - last);
    last = now;
    list.scrollBy(0, 24);
    if (now - start < seconds * 1000) requestAnimationFrame(step); else done(times);
  };
  requestAnimationFrame(step);
})"""


def measure(data: Path) -> dict[str, float]:
    """Seconds, bytes and frames of each case."""
    command = [sys.executable, "-m", "jinx", "view", str(data), "--no-open", "--idle", "1h"]
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as viewer:
        try:
            url = (viewer.stdout.readline() if viewer.stdout else "").strip()
            found: dict[str, float] = {}
            with Largest(viewer.pid) as memory:
                found |= _in_browser(url, started)
                found |= _at_server(url)
            found["memory"] = memory.bytes
        finally:
            viewer.terminate()
    return found


def _in_browser(url: str, started: float) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    executable = next(path for path in map(shutil.which, _BROWSERS) if path)
    with sync_playwright() as running:
        # The time until the pictures counts from the command, less what the browser itself takes to start.
        before = time.monotonic()
        browser = running.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        starting = time.monotonic() - before
        page.goto(url)
        _until(page, "() => document.querySelectorAll('.picture.loaded').length >= 24")
        found = {"first_pictures": time.monotonic() - started - starting}
        _until(page, "() => document.querySelectorAll('.chart').length >= 4")
        found["charts"] = time.monotonic() - started - starting
        frames = page.evaluate(_FRAMES, _SCROLL_SECONDS)
        found["frame_p95"] = statistics.quantiles(frames, n=20)[-1] / 1000
        found["jump"] = statistics.median(_jump(page, share) for share in (0.5, 0.93, 0.2, 0.71, 0.04))
        found["heap"] = page.evaluate("() => performance.memory.usedJSHeapSize")
        sizes = "() => performance.getEntriesByType('resource').filter(e => e.name.includes('/page/'))"
        found["page"] = page.evaluate(f"{sizes[:-1]}).reduce((sum, e) => sum + e.decodedBodySize, 0)")
        browser.close()
    return found


def _jump(page: Any, share: float) -> float:
    """Seconds from a jump of the scroll bar until the rows there are shown with their first pictures."""
    page.evaluate(
        "share => { const list = document.getElementById('list'); list.scrollTop = share * list.scrollHeight; }", share
    )
    started = time.monotonic()
    _until(
        page,
        """share => {
          const cards = [...document.querySelectorAll('.card:not([hidden])')];
          const near = share * document.querySelector('#status .total strong').textContent.replaceAll(',', '');
          const isThere = c => c.querySelector('.id') && Math.abs(c.dataset.index - near) < 0.01 * near + 500;
          return cards.length && cards.every(isThere) && cards.filter(c => c.querySelector('.loaded')).length >= 12;
        }""",
        share,
    )
    return time.monotonic() - started


def _until(page: Any, condition: str, argument: Any = None) -> None:
    limit = time.monotonic() + 120
    while not page.evaluate(condition, argument):
        if time.monotonic() > limit:
            raise TimeoutError(condition)
        page.wait_for_timeout(10)


def _at_server(url: str) -> dict[str, float]:
    columns = quote(json.dumps(["score", "aesthetic", "width", "source"]))
    while not _ask(f"{url}0/charts?columns={columns}")["complete"]:
        time.sleep(0.1)
    brushes = [quote(json.dumps({"score": {"range": [low, low + 0.3]}})) for low in (0.1, 0.25, 0.4, 0.55, 0.7)]
    found = {
        "brush": statistics.median(
            _timed(lambda b=b: _ask(f"{url}0/charts?columns={columns}&brush={b}")) for b in brushes
        )
    }
    # The charts of all columns.
    names = quote(json.dumps([chart["name"] for chart in _ask(f"{url}about")["datasets"][0]["charts"]]))
    while not _ask(f"{url}0/charts?columns={names}")["complete"]:
        time.sleep(0.1)
    found["sort"] = _timed(lambda: _ask(f"{url}0/rows?sort=-aesthetic&count=60"))
    # Any word that is rare: all rows are read.
    started = time.monotonic()
    found["first_hit"] = 0.0
    while True:
        answer = _ask(f"{url}0/rows?find={RARE_WORD}&count=60")
        if answer["total"] and not found["first_hit"]:
            found["first_hit"] = time.monotonic() - started
        if answer["complete"]:
            break
        time.sleep(0.01)
    found["search"] = time.monotonic() - started
    return found


def _timed(act: Callable[[], Any]) -> float:
    started = time.monotonic()
    act()
    return time.monotonic() - started


def _ask(address: str) -> Any:
    with urlopen(address, timeout=600) as answer:  # noqa: S310 - the viewer's own address
        return json.loads(answer.read())


class Largest:
    """Looks at the memory of a process every few milliseconds, also while charts, orders and searches are made."""

    def __init__(self, process: int) -> None:
        self.bytes = 0.0
        self._process = process
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.005):
            self.bytes = max(self.bytes, _resident(self._process))


def _resident(process: int) -> float:
    """The memory of a process that no file stands behind: mapped datasets are the page cache's."""
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    line = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
    return float(line.split()[1]) * 1024


def rows_bytes(data: Path) -> int:
    """Bytes of all rows."""
    return sum(os.stat(file).st_size for file in data.glob("*.jinx"))  # noqa: PTH116
