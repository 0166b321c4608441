"""The client for chat completions: concurrent requests, retries, budgets, and stored answers."""

import asyncio
import os
import random
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from jinx_pipeline.llm.batch_files import WAITS, BatchAnswer, PendingError, waiting_in
from jinx_pipeline.llm.pace import Pace
from jinx_pipeline.llm.post import FailedError, RefusedError, call_soon, post, start
from jinx_pipeline.llm.service import BudgetError, Service
from jinx_pipeline.operators.api.answer_files import Kept, Spent, files_of
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.response_cache import AnswerError, NoServiceError
from jinx_pipeline.operators.api.retry_after import BusyError

# A failed request is not sent again for this long: after a failure, the rows of a batch are tried again in halves.
_FAILED_SECONDS: Final = 300.0
_MAX_FAILED: Final = 10_000
# The delay before the second attempt, which doubles each time, and its maximum.
_FIRST_PAUSE, _MAX_PAUSE = 0.5, 30.0
# The longest pause after a request without an answer, as a share of its time limit.
_LATE_SHARE: Final = 0.1
# With a budget, how often to read what other processes have spent.
_LOOK_SECONDS: Final = 1.0
_TICK: Final = 0.02
_MAX_UNREACHABLE: Final = 3
_CHARACTERS_A_TOKEN: Final = 4
# The number of requests that are handed to the event loop at once.
_PART: Final = 16


@dataclass(frozen=True)
class Request:
    """A request.

    Attributes:
        body: The body: model, messages and parameters. It identifies the answer.
        facts: What the request belongs to, which is kept with the answer.
    """

    body: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def data(self) -> bytes:
        """The body as JSON, with its fields in order: a model answers in the order of the schema."""
        return msgspec.json.encode(self.body)

    @property
    def tokens(self) -> int:
        """An estimate of the number of tokens of the prompt, from its characters without images."""
        return estimated_tokens(self.body["messages"])


@dataclass(frozen=True)
class Reply:
    """The answer to a request.

    Attributes:
        text: The text; empty if the service gave none.
        finish: Why it ends, as the service says: `stop`, `length`, `content_filter`, ...
        tokens: The tokens of the prompt and of the answer, estimated if the service does not say.
        was_kept: Whether it comes from the files of answers.
    """

    text: str
    finish: str
    tokens: tuple[int, int]
    was_kept: bool


class Client:
    """Asks services, and keeps their answers.

    Args:
        folder: The directory of answers; None keeps them only for this object.
    """

    def __init__(self, folder: Path | None) -> None:
        self._files = None if folder is None else files_of(folder)
        self._memory: dict[bytes, Kept] = {}
        self._spent = Spent()
        self._failed: dict[bytes, tuple[float, Exception]] = {}
        self._paces: dict[tuple[str, str, int, float], Pace] = {}

    def ask_all(self, service: Service, requests: Iterable[Request]) -> "list[Reply | AnswerError]":
        """The replies to requests, in their order; equal requests are sent once.

        Args:
            service: The service.
            requests: The requests. An iterator may make them while others are under way.

        Returns:
            For each request the reply, or the error that only this request has.

        Raises:
            NoServiceError: The service cannot be reached, or refuses access.
            BudgetError: The budget is used up. Requests that are under way are waited for, and their answers are kept.
            BusyError: The service asks to wait for longer than `patience`.
        """
        if self._files is not None:
            self._files.refresh()
        keys: list[bytes] = []
        replies: dict[bytes, Reply | AnswerError] = {}
        unanswered = self._unanswered(requests, keys, replies)
        if service.settings.batch is not None:
            replies |= _waiting(service, {request.key: request.data for request in unanswered})
        else:
            replies |= self._answers(service, unanswered)
        return [replies[key] for key in keys]

    def _unanswered(
        self, requests: Iterable[Request], keys: list[bytes], replies: "dict[bytes, Reply | AnswerError]"
    ) -> "Iterator[_Wanted]":
        """The different requests that must be sent.

        Args:
            requests: All requests.
            keys: Their digests are added to it.
            replies: Replies that need no request are added to it.
        """
        seen: set[bytes] = set()
        for request in requests:
            data = request.data
            key = blake2b(data, digest_size=16).digest()
            keys.append(key)
            if key in seen:
                continue
            seen.add(key)
            if (kept := self._kept(key)) is not None:
                replies[key] = _reply(kept.answer, kept.facts, was_kept=True)
            elif (failed := self._failed.get(key)) is not None and failed[0] > time.monotonic():
                replies[key] = AnswerError(str(failed[1]))
            else:
                yield _Wanted(key, request, data)

    def _answers(self, service: Service, wanted: "Iterator[_Wanted]") -> "dict[bytes, Reply | AnswerError]":
        """Send requests while later ones are being prepared, and wait for the replies."""
        if not (first := list(islice(wanted, _PART))):
            return {}
        work = _Round(self, service, self._pace(service), service.key())
        round_ = start(work.replies())
        try:
            part = first
            while part:
                call_soon(work.add, part)
                part = [] if work.is_stopped else list(islice(wanted, _PART))
            call_soon(work.close)
            return round_.result()
        except BaseException:
            round_.cancel()
            raise
        finally:
            if self._files is not None:
                self._files.sync()

    def _kept(self, key: bytes) -> Kept | None:
        return self._memory.get(key) if self._files is None else self._files.get(key)

    def _pace(self, service: Service) -> Pace:
        settings = service.settings
        key = service.url, service.model, settings.concurrency, settings.seconds
        return self._paces.setdefault(key, Pace(settings.concurrency, settings.seconds))

    def keep(self, key: bytes, answer: dict[str, Any], request: Request, service: Service) -> Reply:
        """Store an answer that has arrived."""
        tokens = _tokens(answer, request)
        facts = {"model": service.model, **request.facts, "estimated": "usage" not in answer}
        if self._files is None:
            self._memory[key] = Kept(answer, {**facts, "tokens": tokens})
            self._spent.add(sum(tokens), service.settings.cost(tokens))
        else:
            self._files.put(key, answer, tokens, service.settings.cost(tokens), facts)
        return _reply(answer, facts, was_kept=False, tokens=tokens)

    def take(self, answer: BatchAnswer, service: Service) -> bool:
        """Store an answer from a batch, unless it is already stored; returns whether it was new."""
        if answer.body is None or self._kept(answer.key) is not None:
            return False
        self.keep(answer.key, answer.body, Request({"messages": []}, {"batch": True}), service)
        return True

    def fail(self, key: bytes, error: AnswerError) -> AnswerError:
        """Remember that a request has failed."""
        if len(self._failed) >= _MAX_FAILED:
            self._failed.clear()
        self._failed[key] = time.monotonic() + _FAILED_SECONDS, error
        return error

    def spent(self, *, is_due: bool) -> Spent:
        """The cost of the answers so far. If `is_due`, the answers of other processes are read first."""
        if self._files is None:
            return self._spent
        if is_due:
            self._files.refresh()
        return self._files.spent


class _Wanted(NamedTuple):
    """A request to be sent, with its digest and its body as JSON."""

    key: bytes
    request: Request
    data: bytes


def _waiting(service: Service, requests: Mapping[bytes, bytes]) -> "dict[bytes, Reply | AnswerError]":
    """Record requests for the Batch API, which are not sent now.

    Raises:
        PendingError: They are not collected now.
    """
    if not requests:
        return {}
    folder = Path(str(service.settings.batch)).absolute()
    if not service.settings.collect:
        raise PendingError(f"{folder} has no answer to some requests; run the command batch with this recipe")
    waiting_in(folder).add(requests, service.url)
    return {key: AnswerError(WAITS) for key in requests}


class _Round:
    """The requests of one call of `Client.ask_all`."""

    def __init__(self, client: Client, service: Service, pace: Pace, key: str | None) -> None:
        self._client, self._service, self._pace, self._key = client, service, pace, key
        self._settings = service.settings
        self._stopped: Exception | None = None
        self._ends = asyncio.Event()
        self._sent = 0
        self._looked = 0.0
        self._tasks: dict[bytes, asyncio.Task[Reply | AnswerError]] = {}
        self._all_added = asyncio.Event()

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more will be sent."""
        return self._stopped is not None

    def add(self, part: Iterable[_Wanted]) -> None:
        """Send requests as soon as the pace allows."""
        for wanted in part:
            self._tasks[wanted.key] = asyncio.create_task(self._ask(wanted))

    def close(self) -> None:
        """Record that all requests have been added."""
        self._all_added.set()

    async def replies(self) -> "dict[bytes, Reply | AnswerError]":
        """The replies to all requests."""
        try:
            await self._all_added.wait()
            results = await asyncio.gather(*self._tasks.values())
        except BaseException:
            for task in self._tasks.values():
                task.cancel()
            raise
        if self._stopped is not None:
            raise self._stopped
        return dict(zip(self._tasks, results, strict=True))

    async def _ask(self, wanted: _Wanted) -> "Reply | AnswerError":
        settings, (digest, request, data) = self._settings, wanted
        tries, waited, is_again = 0, 0.0, False
        while self._stopped is None:
            under_way = await self._pace.enter(is_again=is_again)
            if not await self._may_send():
                self._pace.withdraw()
                break
            self._sent += 1
            is_again = True
            started = time.monotonic()
            try:
                answer = await post(self._service.url, data, self._key, settings.seconds)
            except FailedError as failure:
                self._pace.leave(None if failure.is_overload else time.monotonic() - started, under_way)
                tries, waited, error = self._after(failure, tries, waited)
                if error is not None:
                    return self._client.fail(digest, error)
                pause = _pause(failure, tries, settings.seconds)
                waited += pause if failure.retry_after is not None else 0.0
            except BaseException:
                self._pace.leave(None, under_way)
                raise
            else:
                self._pace.leave(time.monotonic() - started, under_way)
                try:
                    return self._client.keep(digest, answer, request, self._service)
                except OSError as error:  # for example, the disk is full: no other answer could be stored
                    self._stop(error)
                    break
            finally:
                self._sent -= 1
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ends.wait(), pause)
        return AnswerError("not sent")  # `ask_all` raises the reason

    def _stop(self, error: Exception) -> None:
        """Send nothing more; requests in progress are still awaited."""
        self._stopped = self._stopped or error
        self._ends.set()

    async def _may_send(self) -> bool:
        """Wait until the budget allows another request; False if nothing more will be sent."""
        while self._stopped is None and self._settings.has_budget:
            now = time.monotonic()
            is_due = now > self._looked + _LOOK_SECONDS
            if is_due:
                self._looked = now
            try:
                if self._settings.has_room(self._client.spent(is_due=is_due), self._sent):
                    break
            except BudgetError as error:
                self._stop(error)
            await asyncio.sleep(_TICK)  # requests in progress may use up the budget
        return self._stopped is None

    def _after(self, failure: FailedError, tries: int, waited: float) -> tuple[int, float, AnswerError | None]:
        """What to do after a failed request: the attempts and waits so far, and the error if it is not sent again."""
        text = f"{self._service.url}: {failure}"
        if isinstance(failure, RefusedError):
            if not failure.concerns_all_rows:
                return tries, waited, AnswerError(text)
            self._stop(NoServiceError(text))
        elif failure.retry_after is not None:
            if waited + failure.retry_after > self._settings.patience:
                self._stop(BusyError(text, failure.retry_after))
        elif (tries := tries + 1) >= (_MAX_UNREACHABLE if failure.is_unreachable else self._settings.tries):
            if not failure.is_unreachable:
                return tries, waited, AnswerError(f"{text}, {tries} times")
            self._stop(NoServiceError(text))
        return tries, waited, None


def _pause(failure: FailedError, tries: int, time_limit: float) -> float:
    """The seconds until a request is sent again, with jitter that spreads the requests over time.

    After the time limit there are few of them: the request has waited long by then, and `Pace` sends fewer at a time if
    many are late.
    """
    if failure.retry_after is not None:
        return failure.retry_after * random.uniform(1.0, 1.25)  # noqa: S311 - not used for security
    if failure.is_late:
        return min(_LATE_SHARE * time_limit, _MAX_PAUSE) * random.uniform(0.0, 1.0)  # noqa: S311
    return min(_FIRST_PAUSE * 2 ** (tries - 1), _MAX_PAUSE) * random.uniform(0.5, 1.0)  # noqa: S311


def estimated_tokens(value: Any) -> int:
    """An estimate of the tokens in a message or text: one per four characters, more in other scripts."""
    if isinstance(value, str):
        return 0 if value.startswith("data:") else -(-len(value.encode()) // _CHARACTERS_A_TOKEN)
    if isinstance(value, Mapping):
        return sum(estimated_tokens(part) for part in value.values())  # pyright: ignore[reportUnknownVariableType]
    return sum(map(estimated_tokens, value)) if isinstance(value, list | tuple) else 0  # pyright: ignore[reportUnknownArgumentType]


def _tokens(answer: Mapping[str, Any], request: Request) -> tuple[int, int]:
    usage = answer.get("usage")
    if isinstance(usage, Mapping):
        counts: list[Any] = [usage.get("prompt_tokens"), usage.get("completion_tokens")]  # pyright: ignore[reportUnknownMemberType]
        if all(isinstance(count, int) and 0 <= count < 1 << 40 for count in counts):
            return counts[0], counts[1]
    return request.tokens, estimated_tokens(_text(answer))


def _reply(
    answer: Mapping[str, Any], facts: Mapping[str, Any], *, was_kept: bool, tokens: tuple[int, int] | None = None
) -> Reply:
    if tokens is None:
        tokens = tuple(facts.get("tokens", (0, 0)))
    return Reply(_text(answer), str(_choice(answer).get("finish_reason") or "stop"), tokens, was_kept)


def _choice(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = answer.get("choices")
    first: Any = choices[0] if isinstance(choices, list) and choices else None  # pyright: ignore[reportUnknownVariableType]
    return first if isinstance(first, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]


def _text(answer: Mapping[str, Any]) -> str:
    """The text of the first choice; empty for a refusal."""
    message: Any = _choice(answer).get("message")
    content: Any = message.get("content") if isinstance(message, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]
    return content if isinstance(content, str) else ""


@lru_cache(maxsize=8)
def client_of(folder: Path) -> Client:
    """The client of this process for a directory of answers."""
    return Client(folder)


_OF_CONTEXT: WeakKeyDictionary[Context, Client] = WeakKeyDictionary()


def client_for(ctx: Context, folder: str | None) -> Client:
    """The client for the answers of a run or of another directory; without either, the context keeps the answers."""
    directory = ctx.answers_dir if folder is None else Path(folder).absolute()
    return _OF_CONTEXT.setdefault(ctx, Client(None)) if directory is None else client_of(directory)


# A forked process must not write to its parent's files.
os.register_at_fork(after_in_child=client_of.cache_clear)
