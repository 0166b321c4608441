"""Iterators of batches that an error has ended."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from jinx.errors import JinxError

P = ParamSpec("P")
T = TypeVar("T")


def refuses_after_error(make: Callable[P, Iterator[T]]) -> Callable[P, Iterator[T]]:
    """Let the iterators that a function makes raise `JinxError` when they are asked for more after an error.

    A generator says `StopIteration` then, and a loop that has caught the error would take this for the end of the data.
    """

    @wraps(make)
    def made(*arguments: P.args, **options: P.kwargs) -> Iterator[T]:
        return _Batches(make(*arguments, **options))

    return made


class _Batches(Iterator[T]):
    def __init__(self, batches: Iterator[T]) -> None:
        self._batches = batches
        # Not the error itself, which would keep all that its frames hold.
        self._failure = ""

    def __next__(self) -> T:
        if self._failure:
            raise JinxError(
                f"an error has ended this iteration, and no batch follows ({self._failure}); iterate again, or resume "
                "from the state of the loader"
            )
        try:
            return next(self._batches)
        except StopIteration:
            raise
        except BaseException as error:
            self._failure = f"{type(error).__name__}: {error}"
            raise

    def close(self) -> None:
        """End the iteration."""
        close: Any = getattr(self._batches, "close", None)
        if close is not None:
            close()
