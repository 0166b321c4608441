"""How large the media files are that samples name: a look at some of them, before blocks are cut."""

import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import numpy as np

from jinx.errors import JinxError
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.operator_kinds import FusedOp
from jinx_pipeline.plan.source import OpenSource
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.sample.media import Media, MediaError
from jinx_pipeline.sample.roles import ROLES, Role

_SAMPLES: Final = 64
# Samples with embedded media are read for their paths: so much of them at most.
_READ_BYTES: Final = 16_000_000
# Over a network, each takes a while.
_FILES: Final = 256
_SEED: Final = 0


def outside_media_bytes(recipe: Recipe, source: OpenSource, rows: int, row_bytes: float) -> float:
    """The mean size of the media files of a sample that operators may read; those behind URLs do not count.

    The same files are looked at in each run, whatever time that takes: blocks follow from it.

    Args:
        recipe: The recipe, with its `media_root`.
        source: The input.
        rows: How many rows are read of it.
        row_bytes: The mean size of a row.
    """
    roles = _media_roles(recipe, source)
    if not roles or not rows:
        return 0.0
    samples = min(_SAMPLES, rows, max(int(_READ_BYTES / max(row_bytes, 1.0)), 1))
    chosen = np.random.default_rng(_SEED).choice(rows, size=samples, replace=False)
    size = files = looked_at = 0
    for row in chosen.tolist():
        looked_at += 1
        for medium in _media(recipe, source, row, roles):
            size += _file_bytes(medium)
            files += 1
        if files >= _FILES:
            break
    return size / looked_at


def _media_roles(recipe: Recipe, source: OpenSource) -> list[Role]:
    """The media that operators say they read; all where one does not say what it reads, such as a function."""
    names = set(source.dataset.column_names)
    operators = [step.operator for step in recipe.steps]
    may_read_all = any(not operator.reads for operator in operators if operator.kind in FusedOp.LOCAL)
    read = {name for operator in operators for name in operator.reads}
    return [
        role
        for role in ROLES
        if role != "text" and (may_read_all or role in read) and recipe.roles.column(role) in names
    ]


def _media(recipe: Recipe, source: OpenSource, row: int, roles: list[Role]) -> Iterator[Media]:
    """The media of a row; none of one that cannot be read, which the run will say."""
    batch = Batch(source.samples, source.positions(row, 1), recipe.roles)
    with suppress(JinxError, MediaError, ValueError, TypeError, KeyError):
        for role in roles:
            yield from batch.media(role)[0]


def _file_bytes(medium: Media) -> int:
    """The size of a medium's file; 0 where there is none."""
    with suppress(OSError, MediaError, ValueError):
        file = medium.file
        found = None if file is None else file.stat()
        if found is not None and stat.S_ISREG(found.st_mode):
            return found.st_size
    return 0
