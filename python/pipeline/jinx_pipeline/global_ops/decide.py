"""Decisions that a single process makes from the keys or signatures of all rows."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.exchange.chunks import Chunks, all_positions, chosen, whole
from jinx_pipeline.global_ops.signature_files import SignatureFiles
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Decision
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import Selector
from jinx_pipeline.operators.api.part_deduplicator import PartDeduplicator
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.runlog.work_dir import signatures_path
from jinx_pipeline.sample.roles import Roles

_KEY_ROWS = 65_536


def decide(operator: Any, source: Source, roles: Roles, ctx: Context) -> Decision:
    """Run a global operator.

    Args:
        operator: A deduplicator, selector, grouper, or an aggregator of all rows.
        source: The rows, in at least one part.
        roles: The columns of texts and media.
        ctx: The context, with seed and threads.
    """
    if operator.kind in {"deduplicator", "fitted"}:
        return _duplicates(operator, SignatureFiles([signatures_path(Path(part)) for part in source.part_paths()]))
    opened = OpenSource(source)
    rows = len(opened)
    if operator.kind == "aggregator":
        return Decision(all_positions(rows), whole(np.array([0, rows] if rows else [0])))
    columns = keys(operator, opened, roles)
    if isinstance(operator, Selector):
        with _operator_named(operator):
            return Decision(operator.order(columns, rows, ctx))
    with _operator_named(operator):
        groups = operator.checked_groups(columns, rows)
    lengths = [len(group) for group in groups]
    return Decision(Chunks(lambda: iter(groups)), whole(np.cumsum([0, *lengths], dtype=np.int64)))


def _duplicates(operator: Any, files: SignatureFiles) -> Decision:
    if isinstance(operator, PartDeduplicator):
        return Decision(all_positions(sum(len(table) for table in files)), keys=operator.repeated(files))
    with _operator_named(operator):
        keep, originals = operator.checked_duplicates(files, sum(len(table) for table in files))
    later = np.flatnonzero(originals >= 0)
    return Decision(chosen(keep), repeats=[pa.table({"later": later, "first": originals[later]})])


@contextmanager
def _operator_named(operator: Operator) -> Generator[None]:
    """Name the operator in its errors, except in errors of the machine and errors that already name it."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:
        if str(error).startswith(operator.name):
            raise
        raise RuntimeError(f"{operator.name}: {type(error).__name__}: {error}") from error


def keys(operator: Operator, source: OpenSource, roles: Roles) -> dict[str, Any]:
    """The columns that a selector or grouper reads, for all rows."""
    is_selector = isinstance(operator, Selector)
    columns: dict[str, Any] = {path: operator.gathered(path) if is_selector else [] for path in operator.reads}
    for first in range(0, len(source), _KEY_ROWS):
        positions = source.positions(first, min(_KEY_ROWS, len(source) - first))
        batch = Batch(source.dataset, positions, roles)
        for path, values in columns.items():
            values.extend(batch.column(path))
    return columns
