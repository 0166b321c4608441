"""Identifies the content at the path of an output without reading samples."""

import json
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinx
from jinx.errors import JinxError
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.store.mirror import is_remote, object_store, patiently

Identity = dict[str, Any]


def identity_of(export: Export) -> Identity | None:
    """An identity that is unique to the content at the path of an output; None if the path does not exist.

    It does not depend on the path, so it also identifies an output before it is moved to its path.

    Args:
        export: The path and kind of the output.
    """
    if is_remote(export.path):
        return _remote_identity(export)
    out = Path(export.path)
    if not os.path.lexists(out):
        return None
    try:
        if export.kind not in {"jinx", "view"}:
            files = sorted(file for file in out.rglob("*") if file.is_file()) if out.is_dir() else [out]
            facts = [(str(file.relative_to(out)), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
            return {"files": len(facts), "digest": _digest(facts)}
        if out.is_dir():
            manifest = _manifest(export)
            _refuse_other_sizes(out, json.loads(manifest)["shards"])
            return manifest_identity(manifest)
        info = jinx.open(out).info()
    except (OSError, ValueError, LookupError, TypeError, JinxError) as error:
        return {"unreadable": type(error).__name__}
    return {"samples": info.samples, "ids": info.ids}


def begins_with(export: Export, identity: Identity) -> bool:
    """Whether the first shards of an output directory are those of an earlier state of it.

    Args:
        export: The path of the directory.
        identity: The identity of the other state.
    """
    try:
        manifest = json.loads(_manifest(export))
        return _identity_of_shards(manifest["shards"][: identity["shards"]]) == identity
    except (OSError, ValueError, LookupError, TypeError):
        return False


def _manifest(export: Export) -> bytes:
    if is_remote(export.path):
        return patiently(lambda: object_store().get(f"{export.path}/jinx.json").data)
    return (Path(export.path) / "jinx.json").read_bytes()


def manifest_identity(manifest: bytes) -> Identity:
    """The identity of a directory of shards, from its manifest."""
    return _identity_of_shards(json.loads(manifest)["shards"])


def _identity_of_shards(listed: Sequence[Mapping[str, Any]]) -> Identity:
    shards = [(shard["name"], shard["samples"], shard.get("id")) for shard in listed]
    return {"samples": sum(shard["samples"] for shard in listed), "shards": len(listed), "digest": _digest(shards)}


def _remote_identity(export: Export) -> Identity | None:
    """The identity of an output at a URL, in one request."""
    try:
        if export.is_directory:
            return manifest_identity(_manifest(export))
        main = f"{export.path}/index.json" if export.kind == "mds" else export.path
        info = patiently(lambda: object_store().head(main))
    except FileNotFoundError:
        return None
    except (ValueError, LookupError, TypeError) as error:
        return {"unreadable": type(error).__name__}
    return {"bytes": info.size, "tag": info.tag}


def _refuse_other_sizes(folder: Path, listed: Sequence[Mapping[str, Any]]) -> None:
    """Refuse missing or truncated shards; otherwise only a later reader would notice them."""
    for shard in listed:
        path = folder / shard["name"]
        files = {path: shard["bytes"], path.with_suffix(".binx"): shard["sidecar_bytes"]}
        for file, size in files.items():
            if size and file.stat().st_size != size:
                raise ValueError(f"{file.name} does not have the size that jinx.json says")


def _digest(facts: Any) -> str:
    return sha256(json.dumps(facts).encode()).hexdigest()[:32]
