"""Errors of what a run reads and somebody has changed since it began."""


class ChangedInputError(RuntimeError):
    """What a run reads is not what it was when the run began; the message says what it is, and the remedy.

    Attributes:
        concerns_all_rows: So that the run stops.
        needs_repair: So that nobody is told to run again as it is.
    """

    concerns_all_rows = True
    needs_repair = True

    def __init__(self, change: str) -> None:
        super().__init__(f"{change}; restore it and run again, or start over with restart (--restart)")
