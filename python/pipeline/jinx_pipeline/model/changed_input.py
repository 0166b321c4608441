"""The error for an input that has changed since the run began."""


class ChangedInputError(RuntimeError):
    """Raised if an input has changed since the run began; the message says which one, and what to do.

    Attributes:
        concerns_all_rows: True, so that the run stops.
        needs_repair: True, so that the user is not told to simply run again.
    """

    concerns_all_rows = True
    needs_repair = True

    def __init__(self, change: str) -> None:
        super().__init__(f"{change}; restore it and run again, or start over with restart (--restart)")
