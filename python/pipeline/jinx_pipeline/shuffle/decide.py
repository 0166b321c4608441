"""Decisions that one process takes, with the keys or signatures of all rows before it."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jinx_pipeline.commit.work_dir import signatures_path
from jinx_pipeline.operators.base import Operator
from jinx_pipeline.operators.batch import Batch
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.keyed import Decision
from jinx_pipeline.operators.kinds import Selector
from jinx_pipeline.operators.part_deduplicator import PartDeduplicator
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.shuffle.signature_files import SignatureFiles

_KEY_ROWS = 65_536


def decide(operator: Any, source: Source, roles: Roles, ctx: Context) -> Decision:
    """Run a global operator.

    Args:
        operator: A deduplicator, selector, grouper, or an aggregator of everything.
        source: The rows that it looks at, in at least one part.
        roles: Where texts and media are.
        ctx: Seed and threads.
    """
    if operator.kind == "deduplicator":
        return _duplicates(operator, SignatureFiles([signatures_path(Path(part)) for part in source.parts]))
    opened = OpenSource(source)
    rows = len(opened)
    if operator.kind == "aggregator":
        return Decision(np.arange(rows, dtype=np.int64), np.array([0, rows] if rows else [0], dtype=np.int64))
    columns = keys(operator, opened, roles)
    if isinstance(operator, Selector):
        with _named(operator):
            return Decision(operator.chosen(columns, rows, ctx))
    with _named(operator):
        groups = operator.checked_groups(columns, rows)
    lengths = [len(group) for group in groups]
    order = np.concatenate([*groups, np.empty(0, np.int64)]).astype(np.int64)
    return Decision(order, np.cumsum([0, *lengths], dtype=np.int64))


def _duplicates(operator: Any, files: SignatureFiles) -> Decision:
    if isinstance(operator, PartDeduplicator):
        return Decision(np.arange(sum(len(one) for one in files)), keys=operator.repeated(files))
    with _named(operator):
        keep, originals = operator.checked_duplicates(files, sum(len(one) for one in files))
    return Decision(np.flatnonzero(keep).astype(np.int64), originals=originals)


@contextmanager
def _named(operator: Operator) -> Generator[None]:
    """Say which operator raised; an error of the machine, and one that names it, stay what they are."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:
        if str(error).startswith(operator.name):
            raise
        raise RuntimeError(f"{operator.name}: {type(error).__name__}: {error}") from error


def keys(operator: Operator, source: OpenSource, roles: Roles) -> dict[str, list[Any]]:
    """The columns that a selector or grouper looks at, of all rows."""
    found: dict[str, list[Any]] = {path: [] for path in operator.reads}
    for first in range(0, len(source), _KEY_ROWS):
        positions = source.positions(first, min(_KEY_ROWS, len(source) - first))
        batch = Batch(source.dataset, positions, roles)
        for path, values in found.items():
            values.extend(batch.column(path))
    return found
