"""Inputs: opens or converts sources, and distinguishes changed inputs from those that only grew."""

import json
import os
import re
import shutil
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from glob import glob
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import jinx
from jinx._convert.remote import url_facts
from jinx._outputs import refuse_input, refuse_within
from jinx._results import DatasetInfo
from jinx._rewrite.inputs import files_of
from jinx._urls import is_url
from jinx.errors import JinxError, UnsupportedError
from jinx_pipeline.database.address import address_of
from jinx_pipeline.database.columns import columns_of
from jinx_pipeline.database.connection import connect, refuse_other_columns
from jinx_pipeline.operators.api.returned import refuse_private
from jinx_pipeline.operators.table.table_select import TRIGGER
from jinx_pipeline.plan.file_digest import file_digest, head_digest
from jinx_pipeline.recipe.errors import Place
from jinx_pipeline.recipe.model import LateQuery, Recipe, SourceSpec, TableQuery
from jinx_pipeline.sample.content_identity import (
    ReplacedError,
    content_digest,
    content_identity,
    refuse_replaced,
)
from jinx_pipeline.store.mirror import (
    exists,
    fetched,
    is_remote,
    object_store,
    patiently,
    push,
    push_part,
    shown,
)
from jinx_pipeline.store.mirror_store import store_at

# The suffixes of formats that are converted before the run. Then a broken line costs only its own row, and workers need
# not index the file.
_PLAIN = (".jsonl", ".ndjson", ".jsonlines", ".json")
_FIRST_SAMPLES = 256
# Characters that the paths of bases in saved views may not contain.
_UNNAMEABLE = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ufeff]")
# The suffix of a conversion's directory until it is complete.
UNFINISHED: Final = ".work"

Convert = Callable[[str, Path, Path], None]
"""Converts a source to a dataset, and writes its unreadable rows to a file, if there are any."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row of a source that could not be read.

    Attributes:
        samples_before: The number of readable samples before the row.
        reason: What is wrong with it.
    """

    samples_before: int
    reason: str


@dataclass(frozen=True)
class Input:
    """A dataset to read.

    Attributes:
        path: The absolute path.
        identity: The `content_identity` of the dataset, or the identity of the converted source.
        rows: The number of samples.
        source: The path in the recipe.
        content: The `content_digest` of the dataset at the path.
        rejected: Unreadable rows of a converted source, in order.
    """

    path: str
    identity: dict[str, Any]
    rows: int
    source: str
    content: str = ""
    rejected: list[Rejected] = field(default_factory=list[Rejected])


def bytes_of(info: DatasetInfo) -> int:
    """The size of a dataset's files in bytes; for a view, the base counts in proportion to the selected rows."""
    shown = sum(base.bytes * base.selected // max(base.samples, 1) for base in info.bases)
    return info.bytes + info.sidecar_bytes + shown


def find_inputs(recipe: Recipe, inputs_dir: Path, convert: Convert) -> list[Input]:
    """Like `find_input`, but for all sources; errors name the place of the source in the recipe."""
    inputs: list[Input] = []
    for source, place in zip_longest(recipe.sources, recipe.source_places):
        with named_at(place):
            inputs.append(find_input(source, inputs_dir, convert))
    return inputs


@contextmanager
def named_at(place: Place | None) -> Generator[None]:
    """Begin the message of an error about a source with its place in the recipe."""
    try:
        yield
    except (FileNotFoundError, ValueError) as error:
        kind = type(error)
        if place is None or not str(place) or kind not in {FileNotFoundError, ValueError}:
            raise
        raise kind(f"{place}: {error}") from None


def find_input(source: SourceSpec, inputs_dir: Path, convert: Convert) -> Input:
    """Open a source, after converting it if necessary.

    Args:
        source: The source of the recipe.
        inputs_dir: The directory for converted inputs, by fingerprint.
        convert: Converts a source.

    Raises:
        FileNotFoundError: The file does not exist; the message names a similar one.
        JinxError: It cannot be read.
    """
    if source.query is not None:
        return _selected(source.query, inputs_dir)
    if not needs_conversion(source.path):
        return _described(source.path)
    is_plain = source.path.lower().endswith(_PLAIN) and Path(source.path).is_file()
    files = _fingerprint(source.path)
    digest = file_digest(source.path, inputs_dir) if is_plain else None
    fingerprint = files if digest is None else digest.sha256[:16]
    target, rejects = inputs_dir / fingerprint, inputs_dir / f"{fingerprint}.rejected.jsonl"
    dataset = _converted(target)
    if dataset is None:
        inputs_dir.mkdir(parents=True, exist_ok=True)
        convert(source.path, target, rejects)
        if _fingerprint(source.path) != files:
            shutil.rmtree(target)
            raise ReplacedError(source.path)
        if rejects.exists():
            push(rejects)
        push_part(target)
        dataset = _described(shown(target))
    store_at(inputs_dir).delete(f"{target.name}{UNFINISHED}")
    identity = (
        {"format": "converted", "samples": dataset.rows, "source": fingerprint}
        if digest is None
        else {"format": "jsonl", "samples": dataset.rows, "bytes": digest.size, "sha256": digest.sha256}
    )
    return Input(dataset.path, identity, dataset.rows, source.path, dataset.content, _rejected(rejects))


def _converted(target: Path) -> Input | None:
    """The dataset of a source that was converted earlier; None if it was not, or if files are missing or damaged."""
    if not exists(target / "jinx.json"):
        return None
    try:
        return _described(shown(target))
    except JinxError:
        store_at(target.parent).delete(target.name)
        return None


def content_of(path: str) -> dict[str, Any]:
    """The identity of a source without converting it; it differs for another file, and after a change.

    Raises:
        FileNotFoundError: The file does not exist.
        JinxError: The source cannot be read.
    """
    if not needs_conversion(path):
        return _described(path).identity
    if path.lower().endswith(_PLAIN) and Path(path).is_file():
        return {"format": "jsonl", "sha256": head_digest(path, Path(path).stat().st_size)}
    return {"format": "converted", "source": _fingerprint(path)}


def mark_of(path: str) -> str:
    """A digest of a source that differs for another file, and after a change; no sample is read for it.

    Returns:
        Hex digits; nothing for a source that does not exist or cannot be read.
    """
    try:
        return _fingerprint(path) if needs_conversion(path) else _described(path).content
    except (JinxError, OSError, ValueError):
        return ""


def needs_conversion(path: str) -> bool:
    """Whether a source must be converted before it is read, because it is not JINX, a saved view or MDS.

    Raises:
        ValueError: The source is a pipe or a device, which cannot be read twice and may be endless.
    """
    if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
        raise ValueError(f"{path}: this is a pipe or a device; a regular file is needed")
    if path.lower().endswith(_PLAIN):
        return True
    try:
        jinx.open(path).close()
    except UnsupportedError:
        return True
    except JinxError:
        # A directory or pattern of other files; converting it shows whether they can be read.
        return not path.endswith(".jinx") and not (Path(path) / "jinx.json").exists()
    return False


def columns_told_by(path: str) -> set[str] | None:
    """All columns of a source that will be converted first, if its first samples show them.

    Returns:
        The names; None if later samples may have other columns, no sample can be read, or the source is remote.
    """
    if "://" in path:
        return None
    names: set[str] = set()
    # Unreadable samples are skipped here, and left out when the source is converted.
    with suppress(JinxError):
        for number, sample in enumerate(jinx.stream(path)):
            if number == _FIRST_SAMPLES:
                return names if path.lower().endswith(".parquet") else None
            names.update(sample)
        return names or None
    return None


def forget_queries(recipe: Recipe, inputs_dir: Path) -> None:
    """Remove the rows that queries of an earlier run have selected, so that a new run selects them again."""
    for source in recipe.sources:
        if source.query is not None:
            store_at(inputs_dir).delete(source.query.name)


def _selected(query: TableQuery, inputs_dir: Path) -> Input:
    """The rows of a query, selected once per run; for a late query, the sample that `TableSelect` reads.

    Raises:
        AwayError: The database does not answer.
        DatabaseError: It refuses the query, or the columns differ from the declared ones.
        ParameterError: An environment variable is not set.
    """
    target = inputs_dir / query.name
    if not exists(target / "jinx.json"):
        # A directory from an earlier process is incomplete.
        shutil.rmtree(target, ignore_errors=True)
        inputs_dir.mkdir(parents=True, exist_ok=True)
        if isinstance(query, LateQuery):
            with jinx.Writer(target, overwrite=True) as writer:
                writer.write({TRIGGER: query.name})
            return replace(_described(str(target)), source=query.name)
        columns = columns_of(query.columns)
        connection = connect(address_of(query.database), only_reads=True)
        try:
            with jinx.Writer(target, overwrite=True) as writer:
                for names, rows in connection.select(query.query):
                    refuse_other_columns("the query", columns, names)
                    places = [names.index(column.name) for column in columns]
                    writer.write_many(
                        {column.name: column.loaded(row[place]) for column, place in zip(columns, places, strict=True)}
                        for row in rows
                    )
        finally:
            connection.close()
        push_part(target)
    opened = _described(shown(target))
    return replace(opened, source=query.name)


def _rejected(path: Path) -> list[Rejected]:
    try:
        records = map(json.loads, fetched(path).read_bytes().splitlines())
    except FileNotFoundError:
        return []
    return [Rejected(record["samples_before"], record["reason"]) for record in records]


def _described(path: str) -> Input:
    """An input that is read in place.

    Raises:
        ValueError: The saved views that a run makes of it cannot name its path.
    """
    dataset = jinx.open(path)
    _refuse_unnameable(path)
    is_place = is_url(path) or any(wildcard in path for wildcard in "*?[")
    absolute = path if is_place else str(Path(path).absolute())
    return Input(absolute, content_identity(dataset), len(dataset), path, content_digest(dataset))


def _refuse_unnameable(path: str) -> None:
    if _UNNAMEABLE.search(os.path.abspath(path)):  # noqa: PTH100 - it may be a pattern
        raise ValueError(f"{path!r}: the path has a control character, or one that hides how it reads; rename it")


def refuse_private_columns(inputs: Iterable[Input], columns: Iterable[str]) -> None:
    """Refuse inputs with columns whose names are reserved for parts.

    Raises:
        ValueError: There is such a column.
    """
    try:
        refuse_private(columns)
    except ValueError as error:
        raise ValueError(f"{', '.join(source.source for source in inputs)}: {error}") from None


def refuse_replaced_inputs(inputs: Iterable[Input]) -> None:
    """Refuse inputs that have changed since they were opened.

    Raises:
        ReplacedError: An input has changed.
    """
    for source in inputs:
        refuse_replaced(source.path, source.content)


def refuse_output_within_input(recipe: Recipe, work_dir: Path) -> None:
    """Refuse an output, or a working directory, that would become part of an input.

    Raises:
        ValueError: It is inside an input, or a pattern of inputs matches it; or views cannot name its path.
    """
    if not recipe.exports:
        return
    named = [source.path for source in recipe.sources]
    for path in (*(export.path for export in recipe.exports), shown(work_dir)):
        others = [name for name in named if name != path]
        if is_url(path):
            _refuse_remote_input(path, others)
        else:
            _refuse_unnameable(path)
            refuse_within(path, others)


def refuse_input_as_output(recipe: Recipe, paths: Iterable[str]) -> None:
    """Refuse an output that would replace an input, a file that an input shows, or one that the recipe names.

    Args:
        recipe: The recipe.
        paths: The paths of its inputs, after conversion.

    Raises:
        ValueError: The output is an input, or a directory that holds one.
    """
    if not recipe.exports:
        return
    named = [source.path for source in recipe.sources]
    files = [file for name in named for file in glob(name, recursive=True)]  # noqa: PTH207 - a pattern is a str
    shown = [file for path in paths for file in files_of(jinx.open(path))]
    needed = [file.path for step in recipe.steps for file in step.operator.needed_files]
    code = [*recipe.options.custom_operators, *([] if recipe.file is None else [recipe.file])]
    for export in recipe.exports:
        if is_url(export.path):
            _refuse_remote_input(export.path, named)
            continue
        refuse_input(export.path, [*named, *files, *shown, *needed, *code])


def _refuse_remote_input(out: str, named: Iterable[str]) -> None:
    for name in named:
        if f"{out}/".startswith(f"{name.rstrip('/')}/") and is_url(name):
            raise ValueError(f"{out} lies in {name}, an input, which is never changed; write it elsewhere")


def has_grown(old: dict[str, Any], new: dict[str, Any], path: str) -> bool:
    """Whether samples were appended to an input, and nothing else changed.

    Args:
        old: Its previous identity.
        new: Its current identity.
        path: The source.
    """
    if old["format"] != new["format"] or new["samples"] <= old["samples"]:
        return False
    if old["format"] == "jsonl":
        with Path(path).open("rb") as file:
            file.seek(max(old["bytes"] - 1, 0))
            # The last line may have had no line end, which was then appended.
            last = file.read(3)
            ends_a_line = not old["bytes"] or b"\n" in last[:2] or last[1:] == b"\r\n"
        return ends_a_line and head_digest(path, old["bytes"]) == old["sha256"]
    if old["format"] == "converted":
        return False  # it is not known which of the samples are old
    ids = old.get("ids") or [None]
    files: list[str] = old.get("files") or []
    begins = new["ids"][: len(ids)] == ids and (new.get("files") or [])[: len(files)] == files
    return None not in ids and len(new["ids"]) > len(ids) and begins


def _fingerprint(path: str) -> str:
    """A digest of a source without an identity: from names, sizes and times of files, or a server's answer."""
    if is_remote(path) and not any(wildcard in path for wildcard in "*?["):
        with suppress(FileNotFoundError):  # a directory, or no object
            info = patiently(lambda: object_store().head(path))
            return sha256(repr((path, info.size, info.tag)).encode()).hexdigest()[:16]
    if "://" in path:
        return sha256(repr(url_facts(path)).encode()).hexdigest()[:16]
    root = Path(path)
    if root.is_dir():
        files = sorted(file for file in root.rglob("*") if file.is_file())
    else:
        files = sorted(map(Path, glob(path, recursive=True))) or [root]  # noqa: PTH207 - the pattern is a str
    return sha256(repr(list(map(_file_facts, files))).encode()).hexdigest()[:16]


def _file_facts(file: Path) -> tuple[str, int, int, int]:
    """The path, size and times; the last time (ctime) changes even if a file is given another's times."""
    status = file.stat()
    return os.path.abspath(file), status.st_size, status.st_mtime_ns, status.st_ctime_ns  # noqa: PTH100
