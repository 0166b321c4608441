"""Opens a dataset's files again with other options."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jinx._dataset.view_definition import ViewDefinition

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset


def reopen_with(dataset: "Dataset", **options: Any) -> "Dataset":
    """The same view over the same files, opened with other options, such as `verify="full"`."""
    old = dataset._definition
    if old is None:
        return dataset._derive(rows=dataset._reopened(**options), options=options)
    if isinstance(old, ViewDefinition):
        new = replace(old, parts=tuple(reopen_with(part, **options) for part in old.parts))
    else:
        new = old.with_options(options)
    return dataset._derive(rows=new.rows(), definition=new, indices=dataset._indices, columns=dataset._shown_columns)
