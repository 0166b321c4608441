"""The errors for samples that do not fit a schema."""


class SchemaError(ValueError):
    """Raised when a sample does not have its schema, or cannot be represented in another schema."""


class DialogError(SchemaError):
    """Raised when a dialog does not have its layout, or cannot be represented in another layout."""
