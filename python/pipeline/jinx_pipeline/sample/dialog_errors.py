"""The errors for samples that do not match a schema."""


class SchemaError(ValueError):
    """Raised if a sample does not have its schema, or cannot be represented in another schema."""


class DialogError(SchemaError):
    """Raised if a dialog does not have its layout, or cannot be represented in another layout."""
