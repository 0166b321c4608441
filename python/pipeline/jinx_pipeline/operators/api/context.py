"""The context of an operator: random numbers, models, services, and a directory for new media."""

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from jinx._dataset.stored_ranges import StoredRange
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.sample.media_spool import MediaSpool
from jinx_pipeline.sample.media_store import MediaStore

if TYPE_CHECKING:
    import numpy as np

    from jinx_pipeline.operators.api.response_cache import Answers

KeptMedium = bytes | str | StoredRange
"""A medium that an operator made, as a value of a sample; see `Context.keep_media`."""

T = TypeVar("T")
N = TypeVar("N", bound="str | Model")

# The models of this process by loading function, name and device, so that each is loaded once.
_MODELS: dict[tuple[str, Hashable, str], Any] = {}


def forget_models() -> None:
    """Drop the models of this process at the end of a run."""
    _MODELS.clear()


def forget_results() -> None:
    """Drop what the models of this process have kept of samples, such as vectors of texts: it is computed again."""
    for model in _MODELS.values():
        kept = getattr(model, "kept", None)
        if isinstance(kept, dict):
            kept.clear()  # pyright: ignore[reportUnknownMemberType]


def _ignore(rows: int) -> None:
    """The default for `Context.begins`: outside a run, there is no time limit."""


class Context:
    """The context that every call of an operator receives.

    Args:
        seed: The seed of the run; with the id of a sample, it gives the same random numbers on every schedule.
        device: The device for models: `"cpu"`, `"cuda:0"`, ...
        threads: How many threads a kernel may use; None: all cores.
        media_dir: The directory for media files that operators make; None keeps them as bytes in the samples.
        media_root: The directory at which a relative `media_dir` starts, and to which paths of its files are relative;
            None: the working directory.
        answers_dir: The directory for answers of models behind URLs; None keeps none.
        spool: Where media are held without a `media_dir`; None: in memory.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        device: str = "cpu",
        threads: int | None = None,
        media_dir: str | Path | None = None,
        media_root: str | None = None,
        answers_dir: str | Path | None = None,
        spool: MediaSpool | None = None,
    ) -> None:
        self.seed = seed
        self.device = device
        self.threads = threads
        self._media = None if media_dir is None else MediaStore(str(media_dir), media_root)
        self._spool = spool
        # Called when work begins, with its number of rows, which sets the time limit; 0 means no limit.
        self.begins: Callable[[int], None] = _ignore
        self.answers_dir = None if answers_dir is None else Path(answers_dir)
        # What operators count, such as requests and tokens; the report shows these numbers.
        self.counts: Counter[str] = Counter()

    @cached_property
    def _answers(self) -> "Answers":
        from jinx_pipeline.operators.api.response_cache import Answers

        return Answers(self.answers_dir)

    def refuse_offline(self, url: str) -> None:
        """Refuse a request where none may be sent; called before each request to a service.

        Args:
            url: The URL of the service.
        """

    def each(self, rows: Iterable[T]) -> Iterator[T]:
        """The rows of a batch, for an operator that processes them one by one: `row_seconds` then limits each row."""
        count = 0
        for count, row in enumerate(rows, 1):  # noqa: B007 - used after the loop
            self.begins(1)
            yield row
        self.begins(count)

    def rng(self, sample_id: str, purpose: str = "") -> "np.random.Generator":
        """Random numbers for one sample, the same in any worker and batch.

        Args:
            sample_id: As in `Batch.ids`.
            purpose: Distinguishes several uses in one operator.
        """
        import numpy as np

        key = f"{self.seed}\0{sample_id}\0{purpose}".encode()
        return np.random.default_rng(int.from_bytes(hashlib.blake2b(key, digest_size=16).digest(), "little"))

    def keep_media(self, data: bytes | IO[bytes], suffix: str) -> KeptMedium:
        """Store a medium that an operator made; returns its path in `media_dir`, or a value for the sample without it.

        The file is named after its content, and it is on disk when this returns. The value is the bytes or, in a run,
        says where they lie until the sample is written; operators that read the sample see bytes.

        Args:
            data: The medium, or a file at its beginning, which is closed.
            suffix: The suffix of its file name, with the dot.
        """
        if self._media is not None:
            return self._media.put(data, suffix)
        if self._spool is not None:
            return self._spool.put(data)
        if isinstance(data, bytes):
            return data
        with data:
            return data.read()

    def ask(
        self, url: str, request: Mapping[str, Any], *, seconds: float = 120.0, key_variable: str | None = None
    ) -> Any:
        """Ask a model behind a URL; see `Answers.ask`. In a run, equal requests are usually sent only once."""
        self.refuse_offline(url)
        self.begins(0)  # a request has its own time limit
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
        """Like `ask`, with several concurrent requests; see `Answers.ask_all`."""
        self.refuse_offline(url)
        self.begins(0)  # requests have their own time limits
        return self._answers.ask_all(url, requests, at_once=at_once, seconds=seconds, key_variable=key_variable)

    def model(self, name: N, load: Callable[[N, str], T]) -> T:
        """The model `name`, loaded by `load(name, device)` when this process first needs it.

        Args:
            name: A path or another name that `load` understands, or a `Model` of a parameter.
            load: A function of a module; it and the name identify the model.

        Raises:
            Exception: The model cannot be loaded, which stops the run, since all rows need it.
        """
        known = name.copy_key if isinstance(name, Model) else name
        key = (f"{load.__module__}.{load.__qualname__}", known, self.device)
        self.begins(0)  # only the operator knows how long loading takes
        if key not in _MODELS:
            try:
                _MODELS[key] = load(name, self.device)
            except Exception as error:
                with suppress(AttributeError):  # an exception may not allow attributes
                    error.concerns_all_rows = True  # pyright: ignore[reportAttributeAccessIssue] - this stops the run
                error.add_note(f"{name} cannot be loaded")
                raise
        return _MODELS[key]
