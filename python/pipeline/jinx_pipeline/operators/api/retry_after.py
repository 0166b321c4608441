"""Services that ask to wait: the error that pauses a stage, and what `Retry-After` means."""

import math
from typing import Any, Final

# Of HTTP: too many requests, service unavailable.
BUSY_STATUSES: Final = frozenset({429, 503})
# No service is asked again sooner.
PAUSE_SECONDS: Final = 0.5
_UNSAID_SECONDS: Final = 5.0
_MAX_SECONDS: Final = 600.0


class BusyError(Exception):
    """A service asks to wait; the task is tried again, and no row gets a strike.

    Args:
        what: Which service, and what it said.
        retry_after: For how many seconds.

    Attributes:
        retry_after: For how many seconds.
    """

    def __init__(self, what: str, retry_after: float) -> None:
        super().__init__(what)
        self.retry_after = retry_after


def seconds_to_wait(retry_after: Any) -> float:
    """What `Retry-After` asks for, from half a second to ten minutes; a date, or nothing, is a few seconds."""
    try:
        wanted = float(retry_after)
    except (TypeError, ValueError, OverflowError):
        return _UNSAID_SECONDS
    return _UNSAID_SECONDS if math.isnan(wanted) else min(max(wanted, PAUSE_SECONDS), _MAX_SECONDS)
