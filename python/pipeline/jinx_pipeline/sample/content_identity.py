"""What a dataset holds, told without reading a sample."""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinx
from jinx import _core
from jinx.errors import JinxError
from jinx_pipeline.model.changed_input import ChangedInputError


class ReplacedError(ChangedInputError):
    """A dataset that a run reads is not the one with which it began."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was replaced or changed while the run lasted")


def refuse_replaced(path: str, digest: str) -> None:
    """Refuse a dataset whose `content_digest` was another one, or that is gone.

    Raises:
        ReplacedError: It was.
    """
    try:
        found = content_digest(jinx.open(path))
    except (JinxError, OSError) as error:
        raise ReplacedError(path) from error
    if found != digest:
        raise ReplacedError(path)


def content_digest(dataset: "jinx.Dataset") -> str:
    """`content_identity` in 32 hex digits."""
    return digest_of(content_identity(dataset))


def digest_of(identity: Mapping[str, Any]) -> str:
    """A `content_identity` in 32 hex digits."""
    return sha256(json.dumps(identity).encode()).hexdigest()[:32]


def content_identity(dataset: "jinx.Dataset") -> dict[str, Any]:
    """Another dataset, or the same one changed, gives another value.

    The ids of JINX files follow from what they hold. That of MDS only follows from its index, and other files have
    none: there `files` has a digest of sizes and times for each file or directory, those beneath a view too.
    """
    roots, _, _ = dataset._roots()
    if dataset._definition is None and [root.kind for root in roots] == ["jinx"]:
        ids = [one for _, one in roots[0].identities()]
        if ids and _has_ids(roots[0]):
            # Those of a directory are in its manifest, so that no shard is opened.
            return {"format": "jinx", "samples": len(dataset), "ids": ids}
    info = dataset.info()
    stamps = [
        _stamp(path, root.kind) for root in roots if root.kind == "mds" or not _has_ids(root) for path in root.paths
    ]
    found: dict[str, Any] = {"format": info.format, "samples": len(dataset), "ids": info.ids}
    return {**found, "files": stamps} if stamps else found


def _has_ids(root: _core.Rows) -> bool:
    """Whether all files have an id; what stands for a missing one holds `-` and says nothing of a sidecar."""
    return not any("-" in identity for _, identity in root.identities())


def _stamp(path: str, kind: str) -> str:
    facts = [(name, file.stat().st_size, file.stat().st_mtime_ns) for name, file in _files(Path(path), kind)]
    return sha256(repr(facts).encode()).hexdigest()[:16]


def _files(path: Path, kind: str) -> Iterator[tuple[str, Path]]:
    """The files, each with the name that it has where the dataset may be moved."""
    if kind == "mds":
        yield from sorted((file.name, file) for file in path.iterdir() if file.is_file())
        return
    yield "main", path
    if kind == "jinx" and (sidecar := _core.sidecar_of(str(path))) is not None:
        yield "sidecar", sidecar
