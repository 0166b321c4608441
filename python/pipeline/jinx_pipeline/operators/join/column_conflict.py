"""The error for samples that already have a column that an operator adds."""


class ColumnTakenError(ValueError):
    """Raised when the samples already have a column that an operator adds.

    Args:
        operator: The name of the operator.
        column: The column.
        advice: What to do.
    """

    concerns_all_rows = True

    def __init__(self, operator: str, column: str, advice: str = "name others with columns, or give a prefix") -> None:
        super().__init__(f"{operator} adds the column {column!r}, which the samples have; {advice}")
