"""How many requests may be under way at once: as many as the service takes without refusals or long latency."""

import asyncio
from collections import deque
from typing import Final

# A quarter of the requests may be refused or time out: a service that limits its rate refuses some at its best pace.
_REFUSED_SHARE: Final = 0.25
# Latency grows with the number of requests, which a GPU batches, so it alone is no reason for fewer of them: a sudden
# growth is, and one that comes near the time-out.
_TOLERANCE: Final = 4.0
_SHARE_OF_TIME_LIMIT: Final = 0.75
# How much the number grows in a round after the service has slowed down once.
_GROWTH: Final = 0.05
_FIRST: Final = 32
_MIN_SAMPLES: Final = 20


class Pace:
    """A semaphore whose size adapts: it doubles in each round until the service slows down, then it probes carefully.

    Args:
        most: The most requests under way at once.
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
        self._outcomes = self._refused = 0
        self._usual = self._recent = 0.0

    async def enter(self, *, is_again: bool = False) -> None:
        """Wait until another request may begin.

        Args:
            is_again: Whether it was sent before: it then is the next one, so that not all that failed wait for the end.
        """
        if self._under_way < int(self.limit):
            self._under_way += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if is_again else self._waiting.append)(turn)
        try:
            await turn  # `_wake` has counted the request already
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.withdraw()
            raise

    def leave(self, seconds: float | None) -> None:
        """Record that a request has ended.

        Args:
            seconds: How long its answer took; None if it was refused, or it timed out.
        """
        self._under_way -= 1
        self._outcomes += 1
        if seconds is None:
            self._refused += 1
        else:
            self._add_latency(seconds)
            self._grow()
        if self._outcomes >= max(self.limit, _MIN_SAMPLES):
            self._judge()
        self._wake()

    def withdraw(self) -> None:
        """Record that a request that had its turn is not sent."""
        self._under_way -= 1
        self._wake()

    def _add_latency(self, seconds: float) -> None:
        if not self._usual:
            self._usual = self._recent = seconds
        self._usual += (seconds - self._usual) / 2000
        self._recent += (seconds - self._recent) / 20

    def _grow(self) -> None:
        if self._recent > self._slow / 2:
            self._is_starting = False  # twice as many might time out
        if self._is_too_slow():
            return
        step = 1.0 if self._is_starting else max(_GROWTH, 1.0 / self.limit)
        self.limit = min(self.limit + step, float(self.most))

    def _is_too_slow(self) -> bool:
        return self._recent > min(_TOLERANCE * self._usual, self._slow)

    def _judge(self) -> None:
        """Look at the requests since the last look, about as many as are under way at once."""
        if self._refused > _REFUSED_SHARE * self._outcomes:
            self._shrink(0.6)
        elif self._is_too_slow():
            self._shrink(0.9)
        self._outcomes = self._refused = 0

    def _shrink(self, factor: float) -> None:
        self._is_starting = False
        self.limit = max(self.limit * factor, 1.0)

    def _wake(self) -> None:
        while self._waiting and self._under_way < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._under_way += 1
