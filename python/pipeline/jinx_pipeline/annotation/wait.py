"""Asks people about the samples of a run, and ends the run while their answers are missing."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jinx_pipeline.engines.driver import StoppedError

if TYPE_CHECKING:
    from jinx_pipeline.operators.api.annotation import Annotation
    from jinx_pipeline.operators.api.keyed import Decision
    from jinx_pipeline.plan.source import OpenSource


class WaitingError(StoppedError):
    """Raised to end the run while people have not answered yet; run it again once they have.

    Attributes:
        operator: The operator that asks.
        waiting: How many answers are missing.
        folder: The directory with the tasks.
    """

    def __init__(self, operator: str, waiting: int, folder: Path, how: str) -> None:
        super().__init__(f"{operator} waits for {waiting:,} answer{'' if waiting == 1 else 's'}: {how}")
        self.operator = operator
        self.waiting = waiting
        self.folder = folder


@dataclass(frozen=True)
class People:
    """Where people answer the questions of a run.

    Attributes:
        folder: The directory for the tasks of all operators.
        accepts_missing: Whether tasks without enough answers are accepted as they are.
    """

    folder: Path
    accepts_missing: bool = False

    def decide(self, operator: "Annotation", source: "OpenSource", node: str) -> "Decision":
        """The answers for all samples.

        Args:
            operator: The operator that asks.
            source: The samples.
            node: The node of the plan, whose name ends in a digest of its samples and its question.

        Raises:
            WaitingError: Answers are missing.
            ValueError: A file of answers, or Label Studio, has something else.
        """
        from jinx_pipeline.annotation.answers import decide
        from jinx_pipeline.annotation.tasks import Tasks

        folder = self.folder / f"{operator.name}-{node.rpartition('-')[2]}"
        return decide(Tasks(folder, operator, source), accepts_missing=self.accepts_missing)
