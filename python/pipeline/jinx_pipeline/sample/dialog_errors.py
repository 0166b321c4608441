"""What is wrong with a dialog."""


class DialogError(ValueError):
    """A sample that does not have the layout it should have, or that another layout cannot hold."""
