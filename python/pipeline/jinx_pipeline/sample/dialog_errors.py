"""The errors for samples that do not fit a schema."""


class SchemaError(ValueError):
    """A sample does not have its schema, or cannot be represented in another schema."""


class DialogError(SchemaError):
    """A dialog does not have its layout, or cannot be represented in another layout."""
