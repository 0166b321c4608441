"""Looks at something again and again while it lasts."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread


@contextmanager
def calling_every(look: Callable[[], None], seconds: float) -> Generator[None]:
    """Call `look` in a thread, every so many seconds and once more at the end."""
    done = Event()

    def watch() -> None:
        while not done.wait(seconds):
            look()

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        look()
