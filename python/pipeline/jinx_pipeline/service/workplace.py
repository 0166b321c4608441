"""What a service works with: its directories, datasets, plans and jobs. REST and MCP are two ways to use it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from jinx_pipeline.catalog.trust import why_trusted
from jinx_pipeline.operators.api.registry import full_name, names, operator_class
from jinx_pipeline.service.datasets import Datasets
from jinx_pipeline.service.jobs import JobLimits, Jobs
from jinx_pipeline.service.plans import Plans
from jinx_pipeline.service.roots import Roots


@dataclass(frozen=True)
class Workplace:
    """The directories, datasets, plans and jobs of a service.

    Attributes:
        roots: The directories.
        datasets: The datasets in them.
        plans: The plans.
        jobs: The jobs.
        refused: Operators that are not available.
    """

    roots: Roots
    datasets: Datasets
    plans: Plans
    jobs: Jobs
    refused: frozenset[str]

    @classmethod
    def open(
        cls,
        state: Path,
        readable: Mapping[str, Path],
        writable: Mapping[str, Path],
        *,
        allow: Collection[str] = (),
        limits: JobLimits | None = None,
    ) -> Self:
        """Open a workplace.

        Args:
            state: The directory for plans and jobs; it is created.
            readable: Directories by name.
            writable: Directories for outputs by name.
            allow: Operators that run code or connect to servers and are allowed nevertheless.
            limits: The limits of jobs.

        Raises:
            UnknownOperatorError: `allow` names an operator that does not exist.
            RuntimeError: Another server has `state`.
        """
        for name in allow:
            operator_class(name)
        allowed = frozenset(map(full_name, allow))
        state = state.absolute()  # absolute, because jobs have their own working directories
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        roots = Roots(readable, writable, own=state)
        refused = frozenset(name for name in names() if name not in allowed and why_trusted(operator_class(name)))
        jobs = Jobs(state / "jobs", limits or JobLimits())
        return cls(roots, Datasets(roots), Plans(state / "plans", roots, allowed), jobs, refused)

    def close(self) -> None:
        """Start no more jobs; running jobs continue."""
        self.jobs.close()
