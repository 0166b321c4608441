"""What an operator may use besides its batch: random numbers, models, and a place for media that it makes."""

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from jinx_pipeline.operators.api.response_cache import Answers

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")

# Models of this process by what loaded them, name and device: a batch must not load its model again.
_MODELS: dict[tuple[str, str, str], Any] = {}


def forget_models() -> None:
    """Drop the models of this process: those of a run that has ended are not for the next one."""
    _MODELS.clear()


def _nobody_is_told(rows: int) -> None:
    """Outside a run there is no time limit."""


class Context:
    """Passed to every call of an operator.

    Args:
        seed: Of the run; together with a sample's id it gives the same random numbers on every schedule.
        device: Where models run: `"cpu"`, `"cuda:0"`, ...
        threads: How many threads a kernel may use; None: all cores.
        media_dir: Where operators put the media files that they make; None keeps them as bytes in the samples.
        answers_dir: Where the answers of models behind URLs are kept; None keeps none.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        device: str = "cpu",
        threads: int | None = None,
        media_dir: str | Path | None = None,
        answers_dir: str | Path | None = None,
    ) -> None:
        self.seed = seed
        self.device = device
        self.threads = threads
        self.media_dir = None if media_dir is None else Path(media_dir)
        # Told of how many rows what begins is, for the time that it may take; 0: any time.
        self.begins: Callable[[int], None] = _nobody_is_told
        self._answers = Answers(None if answers_dir is None else Path(answers_dir))

    def each(self, rows: Iterable[T]) -> Iterator[T]:
        """The rows of a batch, for an operator that takes one after another: `row_seconds` is then for each of them."""
        count = 0
        for count, row in enumerate(rows, 1):  # noqa: B007 - it is used after the loop
            self.begins(1)
            yield row
        self.begins(count)

    def rng(self, sample_id: str, purpose: str = "") -> "np.random.Generator":
        """Random numbers for one sample, whatever worker or batch it is in.

        Args:
            sample_id: As in `Batch.ids`.
            purpose: Distinguishes several uses in one operator.
        """
        import numpy as np

        key = f"{self.seed}\0{sample_id}\0{purpose}".encode()
        return np.random.default_rng(int.from_bytes(hashlib.blake2b(key, digest_size=16).digest(), "little"))

    def keep_media(self, name: str, data: bytes) -> bytes | str:
        """What stands for a medium that an operator made: the path of a file in `media_dir`, or without one the bytes.

        Args:
            name: From the id of its sample, with a suffix; no other medium of the run has it.
            data: The medium.
        """
        if self.media_dir is None:
            return data
        stem, dot, suffix = name.rpartition(".")
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", stem)
        digest = hashlib.blake2b(stem.encode(), digest_size=6).hexdigest()
        path = self.media_dir / f"{plain[:80]}-{digest}{dot}{suffix}"
        self.media_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.media_dir, prefix=".", delete=False) as file:
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
        return str(path)

    def ask(
        self, url: str, request: Mapping[str, Any], *, seconds: float = 120.0, key_variable: str | None = None
    ) -> Any:
        """What a model behind a URL answers; see `Answers.ask`. In a run the same request is usually paid for once."""
        self.begins(0)  # it has a time limit of its own
        return self._answers.ask(url, request, seconds=seconds, key_variable=key_variable)

    def ask_all(
        self,
        url: str,
        requests: Sequence[Mapping[str, Any]],
        *,
        at_once: int = 16,
        seconds: float = 120.0,
        key_variable: str | None = None,
    ) -> list[Any]:
        """As `ask`, of several requests with some under way at the same time; see `Answers.ask_all`."""
        self.begins(0)  # as above
        return self._answers.ask_all(url, requests, at_once=at_once, seconds=seconds, key_variable=key_variable)

    def model(self, name: str, load: Callable[[str, str], T]) -> T:
        """The model `name`, loaded by `load(name, device)` the first time that this process needs it.

        Args:
            name: A path or another name that `load` understands.
            load: A function of a module; it and the name identify the model.

        Raises:
            Exception: It cannot be loaded, which stops a run: no row would fare better.
        """
        key = (f"{load.__module__}.{load.__qualname__}", name, self.device)
        self.begins(0)  # how long it takes, only the operator knows
        if key not in _MODELS:
            try:
                _MODELS[key] = load(name, self.device)
            except Exception as error:
                with suppress(AttributeError):  # an exception may take none
                    error.concerns_all_rows = True  # pyright: ignore[reportAttributeAccessIssue] - whoever stops the run
                error.add_note(f"{name} cannot be loaded")
                raise
        return _MODELS[key]
