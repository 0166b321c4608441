"""The error for dialogs."""


class DialogError(ValueError):
    """A sample does not have its layout, or cannot be represented in another layout."""
