"""Services that ask callers to wait: the error that pauses a stage, and the parsing of `Retry-After`."""

import math
from typing import Any, Final

# HTTP status codes: too many requests, and service unavailable.
BUSY_STATUSES: Final = frozenset({429, 503})
# The minimum delay.
PAUSE_SECONDS: Final = 0.5
_DEFAULT_SECONDS: Final = 5.0
_MAX_SECONDS: Final = 600.0


class BusyError(Exception):
    """Raised if a service asks to wait; the task is tried again later, which does not count as a failure of its rows.

    Args:
        message: The service, and its message.
        retry_after: How many seconds to wait.

    Attributes:
        retry_after: How many seconds to wait.
    """

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def seconds_to_wait(retry_after: Any) -> float:
    """The seconds in `Retry-After`, limited to half a second to ten minutes; a few seconds if it is not a number."""
    try:
        seconds = float(retry_after)
    except (TypeError, ValueError, OverflowError):
        return _DEFAULT_SECONDS
    return _DEFAULT_SECONDS if math.isnan(seconds) else min(max(seconds, PAUSE_SECONDS), _MAX_SECONDS)
