"""Identifies the content of a dataset without reading samples."""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinx
from jinx import _core
from jinx._urls import is_url
from jinx.errors import JinxError
from jinx_pipeline.model.changed_input import ChangedInputError
from jinx_pipeline.sample.file_facts import file_facts
from jinx_pipeline.store.mirror import StoreError, patiently


class ReplacedError(ChangedInputError):
    """Raised when a dataset that a run reads was replaced or changed since the run began."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was replaced or changed during the run")


def refuse_replaced(path: str, digest: str) -> None:
    """Refuse a dataset whose `content_digest` has changed, or that is gone.

    Raises:
        ReplacedError: The dataset has changed or is gone.
        StoreError: Its store fails for too long.
    """

    def read() -> str:
        return content_digest(jinx.open(path))

    try:
        current = patiently(read) if is_url(path) else read()
    except StoreError:
        raise
    except (JinxError, OSError) as error:
        raise ReplacedError(path) from error
    if current != digest:
        raise ReplacedError(path)


def content_digest(dataset: "jinx.Dataset") -> str:
    """`content_identity` as a digest of 32 hex digits."""
    return digest_of(content_identity(dataset))


def digest_of(identity: Mapping[str, Any]) -> str:
    """A `content_identity` as a digest of 32 hex digits."""
    return sha256(json.dumps(identity).encode()).hexdigest()[:32]


def content_identity(dataset: "jinx.Dataset") -> dict[str, Any]:
    """A value that differs between datasets, and changes when a dataset changes.

    The ids of JINX files follow from their content. The id of MDS only follows from its index, and other files have no
    id; for these, `files` has a digest of the content, or of sizes and times, of each file or directory, also for the
    base of a view.
    """
    roots = dataset._root_files()
    if dataset._definition is None and [root.kind for root in roots] == ["jinx"]:
        ids = [identity for _, identity in roots[0].identities()]
        if ids and _has_ids(roots[0]):
            # The manifest of a directory lists the ids, so no shard has to be opened.
            return {"format": "jinx", "samples": len(dataset), "ids": ids}
    info = dataset.info()
    stamps = [
        _stamp(path, root.kind) for root in roots if root.kind == "mds" or not _has_ids(root) for path in root.paths
    ]
    identity: dict[str, Any] = {"format": info.format, "samples": len(dataset), "ids": info.ids}
    return {**identity, "files": stamps} if stamps else identity


def _has_ids(root: _core.Rows) -> bool:
    """Whether all files have an id. A placeholder with `-` stands for a missing id; it ignores the sidecar."""
    return not any("-" in identity for _, identity in root.identities())


def _stamp(path: str, kind: str) -> str:
    files = _files(path, kind)
    facts = _facts_of_mds(Path(path)) if kind == "mds" else [(name, *file_facts(file)) for name, file in files]
    return sha256(repr(facts).encode()).hexdigest()[:16]


def _facts_of_mds(folder: Path) -> list[tuple[str | int, ...]]:
    """Sizes and times; the last time (ctime) changes even if a file is given another's times."""
    files = sorted((file.name, file.stat()) for file in folder.iterdir() if file.is_file())
    return [(name, status.st_size, status.st_mtime_ns, status.st_ctime_ns) for name, status in files]


def _files(path: str, kind: str) -> Iterator[tuple[str, str]]:
    """The files of a dataset, each with a name that does not change when the dataset is moved."""
    yield "main", path
    if kind == "jinx" and (sidecar := _core.sidecar_of(path)) is not None:
        yield "sidecar", str(sidecar)
