"""The error for a dialog that does not fit a layout."""


class DialogError(ValueError):
    """A sample does not have its layout, or cannot be represented in another layout."""
