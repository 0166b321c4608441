"""The outputs of a run; each is published separately."""

from collections.abc import Sequence

from jinx_pipeline.plan.graph import PlanNode
from jinx_pipeline.publish.publication import Publication
from jinx_pipeline.runlog.records import Published
from jinx_pipeline.worker.work import Tasks


class Publications:
    """All outputs of a run, in the order of the recipe.

    Args:
        publications: One for each output.
    """

    def __init__(self, publications: Sequence[Publication]) -> None:
        self._all = list(publications)
        # The outputs that are complete and at their final paths.
        self._present: dict[int, Published] = {}

    @property
    def is_pending(self) -> bool:
        """Whether an earlier process began to publish an output and did not record the end."""
        return any(publication.is_pending for publication in self._all)

    def published(self) -> list[Published] | None:
        """The records of all outputs; None if some output must be written.

        Raises:
            FileExistsError: Another output is at the path of one, and may not be replaced.
            LostOutputError: An output is gone or replaced, and the parts that it was made of are gone too.
        """
        records = [publication.published() for publication in self._all]
        present = [record for record in records if record is not None]
        return present if len(present) == len(records) else None

    def begin(self) -> None:
        """Find out which outputs must be written, or extended.

        Raises:
            FileExistsError: As for `published`.
            LostOutputError: As for `published`.
        """
        for number, publication in enumerate(self._all):
            before = None if publication.is_pending else publication.published()
            if before is None:
                continue
            if before.rows == publication.rows:
                self._present[number] = before
            elif publication.export.is_directory:
                publication.first_block = before.end_block

    @property
    def first_block(self) -> int:
        """The first block that is missing from any output."""
        missing = [item.first_block for number, item in enumerate(self._all) if number not in self._present]
        return min(missing, default=0)

    # Methods of `execute.executor.Outputs`.

    @property
    def generations(self) -> list[int]:
        """How many times each output was published before."""
        return [publication.generation for publication in self._all]

    def tasks(self, node: PlanNode, blocks: int) -> Tasks:
        """The tasks of a node that writes an output; see `Publication.tasks`."""
        number = node.output or 0
        return Tasks() if number in self._present else self._all[number].tasks(node, blocks)

    def committed(self, node: PlanNode, block: int) -> None:
        """Record that a task of a node that writes an output is committed and on disk."""
        self._all[node.output or 0].committed(node, block)

    def finish(self) -> list[Published]:
        """Move the outputs to their paths, after all tasks are committed; see `Publication.finish`."""
        return [
            self._present[number] if number in self._present else publication.finish()
            for number, publication in enumerate(self._all)
        ]
