"""Outputs at URLs: workers write the objects, and the driver turns them into an output with one conditional write.

A shard has the digest of its bytes in its name, so a late write of another attempt or run writes the same bytes, or
another object. The manifest of the directory, `jinx.json`, names the shards that count; it is written last, and only
if the output is still the one that this publication may replace.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from jinx import _core
from jinx.errors import MismatchError
from jinx_pipeline.plan.graph import Kind
from jinx_pipeline.publish.identity import Identity, identity_of, manifest_identity
from jinx_pipeline.publish.pack_work import ExportWork, PackWork
from jinx_pipeline.publish.staged_output import DirectoryOutput, StagedOutput, bounds_of
from jinx_pipeline.runlog.work_dir import published, remove_parts
from jinx_pipeline.store.mirror import fetched, object_store, patiently
from jinx_pipeline.worker.work import Tasks

_MANIFEST = "jinx.json"


class RemoteDirectory(DirectoryOutput):
    """A directory of shards at a URL, or shards that are appended to one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._read: list[Path] = []

    def committed(self, kind: Kind, block: int) -> None:
        """Keep the parts until `remove_parts` removes many at once: a request for each costs more than the space."""
        self._read += self._used.pop((kind, block), ())

    def pack_tasks(self) -> Tasks:
        """A task for each shard."""
        first = _next_number(self._before) if self._begun.append else 0
        if not self._groups:
            if self._begun.append:
                return Tasks()
            work = PackWork(self._writer, bounds_of([[]]), url=self._export.path)
            return Tasks(work, {0: 1}, self._source("pack", [], self._base))
        parts = self._joined
        groups = [[parts[index] for index in group] for group in self._groups]
        self._used |= {("pack", n): [self._path(part) for part in group] for n, group in enumerate(groups)}
        rows = [[part.rows for part in group] for group in groups]
        work = PackWork(self._writer, bounds_of(rows), url=self._export.path, first=first)
        source = self._source("pack", self._listed(parts))
        return Tasks(work, dict.fromkeys(range(len(rows)), 1), source)

    def built(self) -> Identity | None:
        """Make the manifest of all shards."""
        manifests = self._written_manifests()
        if self._begun.append:
            _refuse_equal_shards(self._export.path, [self._before, *manifests])
            manifests.insert(0, self._before)
        with published(self._manifest_path) as file:
            file.write(joined_manifest(manifests, self._before["generation"] + 1 if self._begun.append else 1))
        return manifest_identity(fetched(self._manifest_path).read_bytes())

    def put_in_place(self, *, replaces: bool) -> None:
        """Write the manifest at the URL.

        Raises:
            FileExistsError: Another output has appeared there.
        """
        url, data = f"{self._export.path}/{_MANIFEST}", fetched(self._manifest_path).read_bytes()
        try:
            before = patiently(lambda: object_store().get(url)) if replaces else None
        except FileNotFoundError:
            before = None
        is_ours = before is None or manifest_identity(before.data) == self._begun.replaces
        if not is_ours and not self._export.overwrite:
            raise FileExistsError(url)
        try:
            if before is None:
                patiently(lambda: object_store().put_if_absent(url, data))
            else:
                patiently(lambda: object_store().put_if_match(url, data, before.tag))
        except (FileExistsError, MismatchError):
            # The call may have succeeded although it failed here: then the manifest is our own.
            if patiently(lambda: object_store().get(url)).data != data:
                raise FileExistsError(url) from None

    def facts(self) -> tuple[int, int]:
        """Samples and bytes, from the manifest."""
        manifest = json.loads(patiently(lambda: object_store().get(f"{self._export.path}/{_MANIFEST}").data))
        sizes = [shard["bytes"] + shard["sidecar_bytes"] for shard in manifest["shards"]]
        return manifest["num_samples"], sum(sizes)

    def remove_parts(self) -> None:
        """Remove the parts whose samples are in shards, and shards of the output that was replaced."""
        super().remove_parts()
        remove_parts(self._read)
        if self._export.append:
            return  # nothing was replaced, and other runs may be about to append shards that are not in a manifest yet
        url = self._export.path
        listed = patiently(lambda: object_store().list(url, recursive=False))
        named = {shard["name"] for shard in json.loads(fetched(self._manifest_path).read_bytes())["shards"]}
        named |= {f"{name.removesuffix('.jinx')}.binx" for name in named}
        names = [info.url for info in listed if info.url.removeprefix(f"{url}/").startswith("shard-")]
        patiently(lambda: object_store().delete(*(name for name in names if name.rpartition("/")[2] not in named)))

    def may_begin_again(self) -> bool:
        """See `StagedOutput.may_begin_again`."""
        url = self._export.path
        there = {info.url.rpartition("/")[2] for info in patiently(lambda: object_store().list(url, recursive=False))}
        return there.issuperset(name for manifest in self._written_manifests() for name in _names(manifest))

    def _written_manifests(self) -> list[dict[str, Any]]:
        """The manifests of the shards that tasks have written."""
        written = (self._written("pack", number) for number in range(max(len(self._groups), 1)))
        names = [str(piece.part) for piece in written if piece is not None]
        return [json.loads(fetched(self._parts / name).read_bytes()) for name in names]

    def _is_complete(self) -> bool:
        return False  # in any case, committed tasks do not run again

    @property
    def _manifest_path(self) -> Path:
        number, generation = self._begun.number, self._begun.generation
        return self._ledger.directory.decisions / f"output-{number}-{generation}.json"

    @cached_property
    def _before(self) -> dict[str, Any]:
        """The manifest of the output to which shards are appended."""
        return json.loads(patiently(lambda: object_store().get(f"{self._export.path}/{_MANIFEST}").data))


class RemoteFile(StagedOutput):
    """An output at a URL that is a single file or not JINX: one task writes it, main file last."""

    may_be_partly_there = True

    def join_tasks(self) -> Tasks:
        """No tasks, because the parts are read one after another."""
        return Tasks()

    def pack_tasks(self) -> Tasks:
        """The task that writes the output."""
        parts = self._listed([part for lane in self._lanes for part in lane])
        base = self._base if not parts or parts[0][0].suffix == ".jinx" else ()
        return Tasks(ExportWork(self._export, self._writer, ""), {0: 1}, self._source("pack", parts, base))

    def built(self) -> Identity | None:
        """The identity of what the task wrote."""
        return identity_of(self._export)

    def put_in_place(self, *, replaces: bool) -> None:
        """Raise an error: what the task wrote has been replaced meanwhile."""
        del replaces
        raise FileExistsError(self._export.path)

    def facts(self) -> tuple[int, int]:
        """Samples and bytes, as the worker reported them."""
        piece = self._written("pack", 0)
        return (0, 0) if piece is None else (piece.rows_out, piece.bytes_out)

    def remove_parts(self) -> None:
        """Keep the parts: if the input grows, the output is written again from them."""


def _names(manifest: Mapping[str, Any]) -> list[str]:
    return [shard["name"] for shard in manifest["shards"]]


def _next_number(manifest: Mapping[str, Any]) -> int:
    """A number higher than those in the names of shards; some of these may be missing."""
    found = (re.match(r"shard-(\d+)-", name) for name in _names(manifest))
    return max((int(match[1]) + 1 for match in found if match), default=len(manifest["shards"]))


def _refuse_equal_shards(url: str, manifests: Sequence[Mapping[str, Any]]) -> None:
    """Refuse several shards with one name: names contain a number and a digest of the bytes.

    Raises:
        FileExistsError: Two shards have one name.
    """
    names = [name for manifest in manifests for name in _names(manifest)]
    if len(set(names)) < len(names):
        raise FileExistsError(
            f"{url}: another run has appended the same samples meanwhile; start over with restart=True (--restart) to "
            "append them again"
        )


def joined_manifest(manifests: Sequence[Mapping[str, Any]], generation: int) -> bytes:
    """The manifest for a directory with the shards of several directories, without the empty shards of parts."""
    shards = [shard for manifest in manifests for shard in manifest["shards"]]
    first = manifests[0]
    whole = {
        **first,
        "generation": generation,
        "num_samples": sum(manifest["num_samples"] for manifest in manifests),
        "shards": [shard for shard in shards if shard["samples"]] or shards[:1],
    }
    whole.pop("digest")
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))[:-1]
    # XXH3-64 equals the low half of XXH3-128 for more than 240 bytes.
    digest = _core.hash_bytes(text.encode())[16:]
    return f'{text},"digest":"{digest}"}}'.encode()
