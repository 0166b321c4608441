"""Estimates the size of media files that samples refer to, from a few samples, before dividing into blocks."""

import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
# Up to this many bytes of samples with embedded media are read to find paths.
_READ_BYTES: Final = 16_000_000
# This number of files is enough for an estimate; on a network disk, each file takes a while.
_FILES: Final = 256
_SEED: Final = 0
_THREADS: Final = 16


def outside_media_bytes(recipe: Recipe, source: OpenSource, rows: int, row_bytes: float) -> float:
    """The mean size of a sample's media that operators may read, in files and buckets; other URLs are ignored.

    Every run checks the same files, however long it takes, because the size of blocks depends on the result.

    Args:
        recipe: The recipe, with its `media_root`.
        source: The input.
        rows: The number of rows that the run reads.
        row_bytes: The mean size of a row.
    """
    roles = _media_roles(recipe, source)
    if not roles or not rows:
        return 0.0
    samples = min(_SAMPLES, rows, max(int(_READ_BYTES / max(row_bytes, 1.0)), 1))
    chosen = np.random.default_rng(_SEED).choice(rows, size=samples, replace=False)
    samples_read, media = 0, list[Media]()
    for row in chosen.tolist():
        samples_read += 1
        media += _media(recipe, source, row, roles)
        if len(media) >= _FILES:
            break
    with ThreadPoolExecutor(_THREADS) as threads:
        return sum(threads.map(_file_bytes, media)) / samples_read


def _media_roles(recipe: Recipe, source: OpenSource) -> list[Role]:
    """The media roles that operators declare; all roles if one declares nothing, for example a function."""
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
    """The media of a row; none if the row cannot be read, which the run reports later."""
    batch = Batch(source.samples, source.positions(row, 1), recipe.roles)
    with suppress(JinxError, MediaError, ValueError, TypeError, KeyError):
        for role in roles:
            yield from batch.media(role)[0]


def _file_bytes(medium: Media) -> int:
    """The size of a medium's file or object; 0 if there is none."""
    with suppress(OSError, MediaError, ValueError):
        if medium.stored_url is not None:
            return medium.size
        file = medium.file
        status = None if file is None else file.stat()
        if status is not None and stat.S_ISREG(status.st_mode):
            return status.st_size
    return 0
