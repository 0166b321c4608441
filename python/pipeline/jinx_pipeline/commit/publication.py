"""The output of a run: made of its parts, and recognised again by what the ledger says of it.

Three notes tell how far it is. `publishing`: which blocks become what, before anything is moved. `made`: what a
directory is that was built next to the output and gets its name next. `published`: what the output is. Each carries the
number of the publication, since an output that grows, or was removed, is published more than once.
"""

import errno
import filecmp
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinx
from jinx import _core
from jinx.errors import JinxError
from jinx_pipeline.commit.ledger import Ledger
from jinx_pipeline.commit.publish import Published, append_parts, build_shards, group_parts, publish, published_before
from jinx_pipeline.commit.sync import sync_folder
from jinx_pipeline.commit.work_dir import remove_part
from jinx_pipeline.recipe.model import Export

Blocks = Sequence[Sequence[Path]]
Identity = dict[str, Any]

_ADVICE = "choose another name, or replace it with overwrite=True (--overwrite)"
_TAKEN = frozenset({errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR})


class LostOutputError(RuntimeError):
    """The output is gone, or replaced, and the parts that it was made of are gone, too."""


@dataclass(frozen=True)
class Publication:
    """Publishes the output of a run, and resumes where an earlier process ended.

    Attributes:
        export: What and where.
        ledger: What is committed and noted.
        writer: Keywords of `jinx.Writer`.
        run: The id of the run, which names what is built next to the output.
        base: The dataset whose rows the parts are; none where they hold rows of their own.
        parts_of: Gives the parts of each of a range of blocks.
    """

    export: Export
    ledger: Ledger
    writer: Mapping[str, Any]
    run: str
    base: tuple[str, ...]
    parts_of: Callable[[range], list[list[Path]]]

    def resume(self) -> None:
        """Finish a publication that has begun.

        Raises:
            FileExistsError: Somebody else has put another output there meanwhile.
            LostOutputError: The output that was made is gone.
        """
        begun = self._pending()
        if begun is not None:
            self._carry_out(begun)
            # What the killed process was writing lies under other hidden names than what was written now.
            _core.clean(str(Path(self.export.path).absolute().parent))

    def published(self) -> dict[str, Any] | None:
        """What was noted of the output, if that is what lies in its place; None: it is to be made.

        Raises:
            FileExistsError: Another output lies there, and it is not to be replaced.
            LostOutputError: It is gone or to be replaced, and so are the parts that it was made of.
        """
        known = self.ledger.noted("published")
        if known is None:
            return None
        found = identity_of(self.export)
        if found == known["output"]:
            return known
        if found is not None and not self.export.overwrite:
            raise FileExistsError(f"{self.export.path} is not the output that this run has written; {_ADVICE}")
        if self.ledger.lost_parts():
            what = "is gone" if found is None else "has been replaced"
            raise LostOutputError(f"{self.export.path} was written, and {what}, with its parts")
        return None

    def publish(self, first: int, end: int, rows: int) -> dict[str, Any]:
        """Make the output of blocks, or add them to what it holds.

        Args:
            first: The first block that is not in the output.
            end: The one after the last block.
            rows: Rows of the input that are then in the output or left out.

        Returns:
            As `published`.
        """
        before = self.ledger.noted("published")
        append = before is not None and first > 0
        groups = None if append else group_parts(self.export, self.parts_of(range(first, end)), self.writer)
        self.ledger.note(
            "publishing",
            number=0 if before is None else before["number"] + 1,
            first=first,
            end=end,
            rows=rows,
            append=append,
            groups=None if groups is None else [[str(one) for one in group] for group in groups],
            # Only this, and nothing that appears meanwhile, is replaced without being asked to.
            replaces=identity_of(self.export) if before is not None else None,
        )
        begun = self._pending()
        if begun is None:
            raise RuntimeError("what was noted is not in the ledger")
        return self._carry_out(begun)

    def needed_parts(self) -> list[str]:
        """The names of what an interrupted publication is about to make the output of, such as joined parts."""
        groups = (self._pending() or {}).get("groups") or []
        return [Path(one).name for group in groups for one in group]

    def _pending(self) -> dict[str, Any] | None:
        begun, ended = self.ledger.noted("publishing"), self.ledger.noted("published")
        return None if begun is None or (ended is not None and ended["number"] == begun["number"]) else begun

    def _carry_out(self, begun: dict[str, Any]) -> dict[str, Any]:
        if begun["groups"] is not None:
            done = self._put_directory(begun)
        elif begun["append"]:
            done = self._append(begun)
        else:
            done = self._write(begun)
        names = ("number", "first", "end", "rows")
        noted = {name: begun[name] for name in names}
        noted |= {"samples": done.samples, "bytes": done.bytes, "output": identity_of(self.export)}
        self.ledger.note("published", **noted)
        return noted

    def _put_directory(self, begun: dict[str, Any]) -> Published:
        """Build a directory of shards next to the output, and give it its name."""
        built, out = hidden_directory(self.export, self.run), Path(self.export.path)
        made = self.ledger.noted("made")
        if made is None or made["number"] != begun["number"]:
            build_shards(built, [[Path(one) for one in group] for group in begun["groups"]], self.writer)
            made = {"number": begun["number"], "output": identity_of(replace(self.export, path=str(built)))}
            self.ledger.note("made", **made)
        if built.exists():
            try:
                built.rename(out)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
                what = f"{out} has appeared while this run made it: remove it, and resume"
                raise FileExistsError(what) from None
            sync_folder(out.absolute().parent)
        elif identity_of(self.export) != made["output"]:
            raise LostOutputError(f"{out} was written, and is gone or has been replaced, with its parts")
        return published_before(out)

    def _append(self, begun: dict[str, Any]) -> Published:
        """Add shards to the output, unless an earlier process has done so and could not note it."""
        out, before = Path(self.export.path), begun["replaces"]
        blocks = self.parts_of(range(begun["first"], begun["end"]))
        found = identity_of(self.export)
        if found == before:
            append_parts(self.export, blocks, self.base, self.writer)
        elif identity_of(self.export, shards=before["shards"]) != before or (
            found is None or found["samples"] != before["samples"] + _samples(blocks)
        ):
            raise FileExistsError(f"{out} is not the output that this run has written; {_ADVICE}")
        return published_before(out)

    def _write(self, begun: dict[str, Any]) -> Published:
        """Write an output that appears in one step, unless an earlier process has done so and could not note it."""
        blocks = self.parts_of(range(begun["first"], begun["end"]))
        found = identity_of(self.export)
        is_ours = found is not None and found == begun["replaces"]
        if found is None or self.export.overwrite or is_ours:
            return publish(replace(self.export, overwrite=found is not None), blocks, self.base, self.writer)
        # Written by an earlier process of this run, or by somebody else: the same run writes the same bytes.
        again = replace(self.export, path=str(hidden_file(self.export, self.run)), overwrite=True)
        try:
            done = publish(again, blocks, self.base, self.writer)
            if not _is_same(self.export, again):
                raise FileExistsError(f"{self.export.path} has appeared while this run made it; {_ADVICE}")
        finally:
            remove_part(Path(again.path))
        return replace(done, path=self.export.path)


def hidden_directory(export: Export, run: str) -> Path:
    """Where a run builds a directory of shards: next to the output, which it becomes by one rename."""
    out = Path(export.path)
    return out.with_name(f".{out.name}.{run}")


def hidden_file(export: Export, run: str) -> Path:
    """Where a run writes an output again to compare it; in the same directory, and with the same suffix."""
    out = Path(export.path)
    return out.with_name(f".{out.stem}.{run}{out.suffix}")


def remove_hidden(export: Export, run: str) -> None:
    """Remove what a run that is given up has left next to its output."""
    for path in (hidden_directory(export, run), hidden_file(export, run)):
        remove_part(path)


def identity_of(export: Export, *, shards: int | None = None) -> Identity | None:
    """What lies in the place of an output: other contents give another value; None: nothing.

    Args:
        export: Where, and of which kind.
        shards: Only so many shards of a directory, from the first on.
    """
    out = Path(export.path)
    if not os.path.lexists(out):
        return None
    try:
        if export.kind not in {"jinx", "view"}:
            files = sorted(one for one in out.rglob("*") if one.is_file()) if out.is_dir() else [out]
            facts = [(str(one.relative_to(out)), one.stat().st_size, one.stat().st_mtime_ns) for one in files]
            return {"files": len(facts), "digest": _digest(facts)}
        if out.is_dir():
            listed = json.loads((out / "jinx.json").read_bytes())["shards"][:shards]
            _refuse_other_sizes(out, listed)
            known = [(one["name"], one["samples"], one.get("id")) for one in listed]
            return {"samples": sum(one["samples"] for one in listed), "shards": len(listed), "digest": _digest(known)}
        info = jinx.open(out).info()
    except (OSError, ValueError, LookupError, TypeError, JinxError) as error:
        return {"unreadable": type(error).__name__}
    return {"samples": info.samples, "ids": info.ids}


def _refuse_other_sizes(folder: Path, listed: Sequence[Mapping[str, Any]]) -> None:
    """Refuse shards that are gone or were cut, which only their reader would see."""
    for one in listed:
        shard = folder / one["name"]
        files = {shard: one["bytes"], shard.with_suffix(".binx"): one["sidecar_bytes"]}
        for file, size in files.items():
            if size and file.stat().st_size != size:
                raise ValueError(f"{file.name} has another size than jinx.json says")


def _digest(facts: Any) -> str:
    return sha256(json.dumps(facts).encode()).hexdigest()[:32]


def _is_same(export: Export, other: Export) -> bool:
    if export.kind in {"jinx", "view"}:
        return identity_of(export) == identity_of(other)
    here, there = Path(export.path), Path(other.path)
    if not here.is_dir():
        return here.is_file() and filecmp.cmp(here, there, shallow=False)
    names = _files_in(there)
    return names == _files_in(here) and filecmp.cmpfiles(here, there, names, shallow=False)[1:] == ([], [])


def _files_in(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


def _samples(blocks: Blocks) -> int:
    return sum(len(jinx.open(part)) for block in blocks for part in block)
