"""Calls a function periodically while a block of code runs."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread


@contextmanager
def calling_every(function: Callable[[], None], seconds: float) -> Generator[None]:
    """Call a function in a thread at an interval in seconds, and once more at the end."""
    done = Event()

    def watch() -> None:
        while not done.wait(seconds):
            function()

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        function()
