"""Media in the stores of finished runs that no output or table names, since their writers died or were run again."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import numpy as np

import jinx
from jinx_pipeline.database.address import address_of
from jinx_pipeline.database.connection import DatabaseError, connect, quoted
from jinx_pipeline.operators.api.sample_source import source_of
from jinx_pipeline.operators.table.table_upsert import TableUpsert
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.replay import recipe_in
from jinx_pipeline.run_plan import publications_of
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.work_dir import WorkDir
from jinx_pipeline.sample.media_store import NAME, MediaStore

_ROWS: Final = 1000


def orphans(folders: Sequence[Path], *, min_seconds: float = 0.0, remove: bool = False) -> dict[str, int]:
    """The media in the stores of runs that none of their outputs and tables names, with their sizes.

    Args:
        folders: The working directories of all runs that write to these stores; no run may begin meanwhile.
        min_seconds: Media that were written within so many seconds count as used, because another run may write them.
        remove: Remove them.

    Raises:
        FileNotFoundError: A directory is not the working directory of a run, or a file of SQLite is gone.
        RuntimeError: A run is running, or has not ended, or a database refuses to tell.
        AwayError: A database does not answer.
    """
    stores: dict[str, MediaStore] = {}
    used: set[str] = set()
    with ExitStack() as locks:
        for folder in folders:
            recipe = recipe_in(folder)
            _refuse_unfinished(recipe, locks.enter_context(WorkDir(folder)))
            for store in stores_of(recipe):
                stores[store.place] = store
            for export in recipe.exports:
                used |= _named_by(_values_of_dataset(export.path))
            for step in recipe.steps:
                if isinstance(step.operator, TableUpsert):
                    used |= _named_by(_values_of_table(step.operator))
        newest = time.time() - min_seconds
        found: dict[str, int] = {}
        for store in stores.values():
            for medium in store.media():
                if medium.modified <= newest and not used.intersection(NAME.findall(medium.path.rpartition("/")[2])):
                    found[medium.path] = medium.size
                    if remove:
                        store.remove(medium)
    return found


def stores_of(recipe: Recipe) -> list[MediaStore]:
    """The stores to which the operators of a recipe write media."""
    folders = dict.fromkeys(folder for step in recipe.steps for folder in step.operator.media_dirs)
    return [MediaStore(folder, recipe.roles.media_root) for folder in folders]


def _refuse_unfinished(recipe: Recipe, work_dir: WorkDir) -> None:
    """Refuse a run whose rows are not all in its outputs yet.

    Raises:
        RuntimeError: The run has not ended.
    """
    directory = work_dir.current()
    if directory is None:
        raise RuntimeError(f"{work_dir.path}: no run has begun there")
    with Ledger(directory) as ledger:
        publications = publications_of(recipe, ledger)
        if publications.is_pending or publications.published() is None:
            raise RuntimeError(f"{work_dir.path}: this run has not ended; resume it first")


def _values_of_dataset(path: str) -> Iterator[Any]:
    """All values of a dataset; media that it holds are not read."""
    dataset = jinx.open(path)
    source = source_of(dataset)
    for first in range(0, len(source), _ROWS):
        positions = np.arange(first, min(first + _ROWS, len(source)), dtype=np.int64)
        for name in source.names():
            yield from source.media_values(positions, name)


def _values_of_table(sink: TableUpsert) -> Iterator[Any]:
    """The values of the columns of a table that may name media."""
    columns = [column.name for column in sink.table_columns if column.kind in {"str", "json"}]
    if not columns:
        return
    address = address_of(sink.database)
    restore = "so the media that it names are not known; restore it, or begin in the directory where the run began"
    # A connection would make the file.
    if address.kind == "sqlite" and not Path(address.target).exists():
        raise FileNotFoundError(f"{sink.database}: no such database, {restore}")
    connection = connect(address, reads=True)
    try:
        # Names of tables and columns are checked.
        for _, rows in connection.select(f'SELECT {quoted(columns)} FROM "{sink.table}"'):  # noqa: S608
            yield from rows
    except DatabaseError as error:
        raise RuntimeError(f"{error}, {restore}") from error
    finally:
        connection.close()


def _named_by(values: Iterable[Any]) -> set[str]:
    """The digests of the media that values name, also inside of lists, mappings and texts."""
    found: set[str] = set()
    for value in values:
        if isinstance(value, str):
            found.update(NAME.findall(value))
        elif isinstance(value, Mapping):
            found |= _named_by(value.values())
        elif isinstance(value, list | tuple):
            found |= _named_by(value)
    return found
