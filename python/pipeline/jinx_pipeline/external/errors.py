"""The errors of adapters."""


class ExternalError(RuntimeError):
    """Raised if an adapter cannot be run at all; this concerns all samples."""

    concerns_all_rows = True


class AdapterError(ValueError):
    """Raised if an adapter fails for a batch."""
