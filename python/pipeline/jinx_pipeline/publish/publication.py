"""Publishes the output of a run: workers write it from the parts, and the run log identifies it later.

Three records tell the state: `Publishing`, before anything is written; `Built`, when the output is complete next to its
path; and `Published`. Each has the generation of the publication, since an output that grows or was removed is
published more than once. The results of workers are committed like those of any task, to nodes of the generation. The
driver only renames files and writes the manifest of a directory; it reads no samples.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from jinx import _core
from jinx_pipeline.plan.graph import WRITERS, Kind, PlanGraph, PlanNode
from jinx_pipeline.publish.destination import refuse_no_directory_of_shards
from jinx_pipeline.publish.identity import Identity, begins_with, identity_of
from jinx_pipeline.publish.place import remove_hidden
from jinx_pipeline.publish.remote_output import RemoteDirectory, RemoteFile
from jinx_pipeline.publish.staged_output import LostOutputError, StagedDirectory, StagedFile, StagedOutput
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Built, Published, Publishing
from jinx_pipeline.store.mirror import is_remote
from jinx_pipeline.worker.work import Tasks

_ADVICE = "choose another name, or replace it with overwrite=True (--overwrite)"


@dataclass
class Publication:
    """Publishes the output of a run, and resumes an interrupted publication.

    The executor asks for its tasks when the rows are complete (`execute.executor.Outputs`); `finish` does the rest.

    Attributes:
        export: The kind and path of the output.
        ledger: The committed work and other records.
        writer: Keywords of `jinx.Writer`.
        base: The dataset whose rows the parts show; empty if the parts hold the rows themselves.
        graph: The graph of the plan.
        rows: Rows of the input that are in the output or left out afterwards.
        number: The number of the output.
        first_block: The first block that is not yet in the output.
    """

    export: Export
    ledger: Ledger
    writer: Mapping[str, Any]
    base: tuple[str, ...]
    graph: PlanGraph
    rows: int
    number: int = 0
    first_block: int = 0

    def __post_init__(self) -> None:
        self._rows_node = self.graph.outputs()[self.number]
        self._staged: StagedOutput | None = None

    @property
    def is_pending(self) -> bool:
        """Whether an earlier process began to publish and did not record the end."""
        return self._pending() is not None

    def published(self) -> Published | None:
        """The record of the output if it is at its path; None if it must be written.

        Raises:
            FileExistsError: Another output is at the path, and may not be replaced.
            LostOutputError: The output is gone or replaced, and the parts that it was made of are gone too.
        """
        recorded = self.ledger.published.get(self.number)
        if recorded is None:
            return None
        present = identity_of(self.export)
        if present == recorded.output or self._may_have_been_extended(present, recorded):
            return recorded
        if present is not None and self.export.append:
            raise FileExistsError(
                f"{self.export.path} has been replaced, and lacks samples that this run has appended; start over with "
                "restart=True (--restart) to append them again"
            )
        if present is not None and not self.export.overwrite:
            raise FileExistsError(f"{self.export.path} is not the output that this run has written; {_ADVICE}")
        if self.ledger.has_lost_parts(self._rows_node.id, range(recorded.end_block)):
            state = "is gone" if present is None else "has been replaced"
            raise LostOutputError(f"{self.export.path} was written, and {state}, with its parts")
        return None

    # These methods implement `execute.executor.Outputs`.

    @property
    def generation(self) -> int:
        """How many times the output was published before."""
        begun, before = self._pending(), self.ledger.published.get(self.number)
        if begun is not None:
            return begun.generation
        return 0 if before is None else before.generation + 1

    def tasks(self, node: PlanNode, blocks: int) -> Tasks:
        """The tasks of a node that writes the output and has the given number of blocks.

        Raises:
            FileExistsError: Another output has appeared at the path meanwhile.
        """
        begun = self._ensure_begun(blocks)
        if self._is_built(begun):
            return Tasks()
        output = self._output(begun)
        if not output.may_be_partly_there:
            self._refuse_other_output(begun)
        return output.join_tasks() if node.kind == "join" else output.pack_tasks()

    def committed(self, node: PlanNode, block: int) -> None:
        """Record that a task of a node that writes the output is committed and on disk."""
        if self._staged is not None:
            self._staged.committed(node.kind, block)

    def finish(self) -> Published:
        """Move the output to its path, after all tasks are committed.

        Raises:
            FileExistsError: Another output has appeared at the path meanwhile.
            LostOutputError: The output that was made is gone.
        """
        begun = self._pending()
        if begun is None:
            raise RuntimeError("an output is published after its tasks")
        output = self._output(begun)
        built = self.ledger.built.get(self.number)
        if built is None or built.generation != begun.generation:
            identity = output.built()
            if identity is None:
                raise LostOutputError(f"{self.export.path} was written, and is gone before it has its name")
            built = Built(begun.generation, identity, self.number)
            self.ledger.record(built)
        self._put_in_place(begun, built, output)
        # Remove leftovers before writing the record, because no later call looks for them.
        output.remove_parts()
        if not is_remote(self.export.path):
            remove_hidden(self.export, self.ledger.directory.run)
            # Leftovers of killed processes have different hidden names.
            _core.clean(str(Path(self.export.path).absolute().parent))
        samples, size = output.facts()
        if self.export.append and built.output is not None:
            samples = built.output["samples"]  # other runs may have appended more since
        facts = (begun.generation, begun.first_block, begun.end_block, begun.rows)
        record = Published(*facts, samples, size, built.output, self.number, begun.others)
        self.ledger.record(record)
        return record

    def _ensure_begun(self, blocks: int) -> Publishing:
        begun = self._pending()
        if begun is not None:
            return self._begun_again(begun) if self.export.append else begun
        before = self.ledger.published.get(self.number)
        if self.ledger.was_discarded(self._rows_node.id, self.number):
            self.first_block = 0  # some rows of the output have changed
            self._refuse_changes_of_appended(before)
        # Without `overwrite`, only the output that is at the path now may be replaced, not one that appears later.
        replaces = None if before is None else identity_of(self.export)
        is_append = before is not None and self.first_block > 0
        begun = Publishing(self.generation, self.first_block, blocks, self.rows, is_append, replaces, self.number)
        if self.export.append:
            begun = self._appending(begun)
        else:
            # Refuse before recording, so that the next call may append instead.
            self._refuse_other_output(begun)
        self.ledger.record(begun)
        return begun

    def _appending(self, begun: Publishing) -> Publishing:
        """The record of a publication that appends to the output now at the path, if there is one.

        Raises:
            ValueError: Nothing can be appended to what is there.
        """
        refuse_no_directory_of_shards(self.export)
        present = identity_of(self.export)
        own = self._own_samples(self.ledger.published.get(self.number))
        others = 0 if present is None else present["samples"] - own
        return msgspec.structs.replace(begun, append=present is not None, replaces=present, others=others)

    def _begun_again(self, begun: Publishing) -> Publishing:
        """A publication that was interrupted: others may have appended meanwhile, so it may append to a newer version.

        Raises:
            FileExistsError: The output has changed, and the shards that were made for it are no longer there.
        """
        built = self.ledger.built.get(self.number) if self._is_built(begun) else None
        if identity_of(self.export) == begun.replaces or self._is_in_place(built):
            return begun
        again = self._appending(begun)
        output = self._output(begun)
        if not output.may_begin_again():
            raise self._changed_meanwhile()
        output.begin_again()
        self._staged = None
        self.ledger.record(again)
        return again

    def _may_have_been_extended(self, present: Identity | None, recorded: Published) -> bool:
        """Whether an output to which this run has appended may exist, with more samples that others appended since."""
        if present is None or not self.export.append:
            return False
        return present.get("samples", -1) >= self._own_samples(recorded)

    def _is_in_place(self, built: Built | None) -> bool:
        """Whether the output that was made is at the path, even if others have appended samples since."""
        if built is None:
            return False
        is_same = identity_of(self.export) == built.output
        return is_same or (self.export.append and built.output is not None and begins_with(self.export, built.output))

    def _refuse_changes_of_appended(self, before: Published | None) -> None:
        if self.export.append and before is not None:
            raise ValueError(
                f"{self.export.path}: samples that this run has appended would change with the new ones, and only new "
                "samples can be appended; write them to another output"
            )

    @staticmethod
    def _own_samples(before: Published | None) -> int:
        """The number of samples of an output that this run has written."""
        return 0 if before is None else before.samples - before.others

    def _is_built(self, begun: Publishing) -> bool:
        built = self.ledger.built.get(self.number)
        return built is not None and built.generation == begun.generation

    def _output(self, begun: Publishing) -> StagedOutput:
        if self._staged is None:
            generations = [begun.generation if number == self.number else 0 for number in range(self.number + 1)]
            nodes = [node for node in self.graph.nodes if node.output == self.number and node.kind in WRITERS]
            graph = PlanGraph(tuple(nodes)).of_generations(generations)
            writers: dict[Kind, PlanNode] = {kind: graph.of_kind(kind)[0] for kind in WRITERS}
            local, remote = (StagedDirectory, RemoteDirectory) if self.export.is_directory else (StagedFile, RemoteFile)
            kind = remote if is_remote(self.export.path) else local
            rows = self._rows_node
            self._staged = kind(
                self.export, self.ledger, self.writer, base=self.base, rows=rows, writers=writers, begun=begun
            )
        return self._staged

    def _pending(self) -> Publishing | None:
        begun, ended = self.ledger.publishing.get(self.number), self.ledger.published.get(self.number)
        return None if begun is None or (ended is not None and ended.generation == begun.generation) else begun

    def _put_in_place(self, begun: Publishing, built: Built, output: StagedOutput) -> None:
        if self._is_in_place(built):
            return  # done by an earlier process
        out = self.export.path
        replaces = self._refuse_other_output(begun)
        self.ledger.refuse_lost_epoch()
        try:
            output.put_in_place(replaces=replaces)
        except FileExistsError:
            if self.export.append:
                raise self._changed_meanwhile() from None
            raise FileExistsError(f"{out} has appeared while this run made it; {_ADVICE}") from None

    def _changed_meanwhile(self) -> FileExistsError:
        return FileExistsError(
            f"{self.export.path} has changed while this run appended to it; run again to append to what is there now, "
            "and if that is refused too, start over with restart=True (--restart)"
        )

    def _refuse_other_output(self, begun: Publishing) -> bool:
        """Refuse an existing output that may not be replaced; returns whether it may be."""
        present = identity_of(self.export)
        is_ours = present is not None and present == begun.replaces
        if self.export.append and present != begun.replaces:
            raise self._changed_meanwhile()
        if begun.append and not is_ours:
            raise FileExistsError(f"{self.export.path} is not the output that this run has written; {_ADVICE}")
        if present is not None and not is_ours and not self.export.overwrite:
            raise FileExistsError(f"{self.export.path} has appeared while this run made it; {_ADVICE}")
        return is_ours or self.export.overwrite
