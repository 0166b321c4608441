"""How many requests may run concurrently: as many as the service handles without refusals or high latency."""

import asyncio
import math
from collections import deque
from typing import Final

# This share of requests may be refused or time out: a service that limits its rate refuses some even at its best pace.
_REFUSED_SHARE: Final = 0.3
# Latency grows with the number of requests, because a GPU batches them; that alone is no reason to send fewer. Send
# fewer if latency grows by this factor, or comes this close to the time limit.
_TOLERANCE: Final = 4.0
_SHARE_OF_TIME_LIMIT: Final = 0.75
# How much longer answers take if the service processes requests one after another instead of all at once.
_IN_TURN: Final = 1.5
# How much the limit grows per round after the service has slowed down once, and the smallest share of it that a cut
# leaves.
_GROWTH: Final = 0.1
_LEAST_CUT: Final = 0.25
# The number of concurrent requests in the first round. A service that allows fewer refuses the others at once, which
# costs little.
_FIRST: Final = 128
_MIN_SAMPLES: Final = 32
# The numbers of answers over which the recent latency and the usual latency are averaged.
_RECENT, _USUAL = 20, 2000


class Pace:
    """A semaphore with an adaptive size: it doubles in each round until the service slows down, then grows carefully.

    Args:
        most: The maximum number of requests under way at once.
        seconds: Their time limit.

    Attributes:
        limit: How many requests may be under way now.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self.most = most
        self._slow = _SHARE_OF_TIME_LIMIT * seconds
        self.limit = float(min(most, _FIRST))
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_starting = True
        self._outcomes = self._refused = self._answers = 0
        self._sent_before = 0  # requests in progress at the last cut: they say nothing about the current limit
        self._usual = self._recent = 0.0
        self._least = math.inf

    async def enter(self, *, is_again: bool = False) -> int:
        """Wait until another request may begin.

        Args:
            is_again: Whether it was sent before: it then is the next one, so that not all that failed wait for the end.

        Returns:
            How many requests are under way with it, for `leave`.
        """
        if self._under_way < int(self.limit):
            self._under_way += 1
            return self._under_way
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if is_again else self._waiting.append)(turn)
        try:
            await turn  # `_wake` has counted the request already
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.withdraw()
            raise
        return self._under_way

    def leave(self, seconds: float | None, under_way: int) -> None:
        """Record that a request has ended.

        Args:
            seconds: How long its answer took; None if it was refused, or it timed out.
            under_way: What `enter` returned.
        """
        self._under_way -= 1
        if seconds is not None:
            self._add_latency(seconds)
            self._grow(seconds / under_way)
        if self._sent_before:
            self._sent_before -= 1
        else:
            self._outcomes += 1
            self._refused += seconds is None
        if self._outcomes >= max(self.limit, _MIN_SAMPLES):
            self._judge()
        self._wake()

    def withdraw(self) -> None:
        """Record that a request that was let in will not be sent."""
        self._under_way -= 1
        self._wake()

    def _add_latency(self, seconds: float) -> None:
        self._answers += 1
        self._usual += (seconds - self._usual) / min(self._answers, _USUAL)
        self._recent += (seconds - self._recent) / min(self._answers, _RECENT)
        if self._answers >= _MIN_SAMPLES:
            self._least = min(self._least, self._recent)

    def _grow(self, seconds_in_turn: float) -> None:
        """Raise the limit after an answer.

        Args:
            seconds_in_turn: How long the service works on a request, if it works on one after another.
        """
        if self._recent > max(self._slow / 2, _IN_TURN * self._least):
            self._is_starting = False  # otherwise many more requests might time out
        if self._is_too_slow():
            return
        # Answers say what the service does with the requests of then, and those since are more: at the start, send no
        # more than would be answered in time one after another.
        if self._is_starting and self.limit >= self._slow / seconds_in_turn:
            return
        step = 1.0 if self._is_starting else max(_GROWTH, 1.0 / self.limit)
        self.limit = min(self.limit + step, float(self.most))

    def _is_too_slow(self) -> bool:
        return self._recent > min(_TOLERANCE * self._usual, self._slow)

    def _judge(self) -> None:
        """Evaluate the requests since the last evaluation, about as many as run concurrently."""
        if self._refused > _REFUSED_SHARE * self._outcomes:
            self._shrink(max(1.0 - self._refused / self._outcomes, _LEAST_CUT))
        elif self._is_too_slow():
            self._shrink(0.9)
        self._outcomes = self._refused = 0

    def _shrink(self, factor: float) -> None:
        self._is_starting = False
        self._sent_before = self._under_way
        self.limit = max(self.limit * factor, 1.0)

    def _wake(self) -> None:
        while self._waiting and self._under_way < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._under_way += 1
