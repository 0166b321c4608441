"""Samples that have a column already that is to be added."""


class ColumnTakenError(ValueError):
    """The samples have a column that an operator adds.

    Args:
        operator: Its name.
        column: The column.
    """

    concerns_all_rows = True

    def __init__(self, operator: str, column: str) -> None:
        super().__init__(
            f"{operator} adds the column {column!r}, which the samples have; name others with columns, or give a prefix"
        )
