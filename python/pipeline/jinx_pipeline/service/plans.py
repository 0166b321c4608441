"""Plans: checked recipes, with a dry run. Their ids are digests, so that a job runs what was shown."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from jinx_pipeline.plan.inputs import mark_of
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.resolve import without_code
from jinx_pipeline.report.graph_picture import picture_of
from jinx_pipeline.report.graph_svg import document
from jinx_pipeline.runlog.work_dir import publish_text
from jinx_pipeline.service.children import run_child
from jinx_pipeline.service.errors import ServiceError, not_found
from jinx_pipeline.service.placement import place, recipe_data, refused
from jinx_pipeline.service.roots import Roots

DRY_RUN_SAMPLES: Final = 1_000
_MAX_PLANS: Final = 10_000
_EXAMPLES: Final = 5
# Each dry run is a process with one worker.
_DRY_RUNS_AT_ONCE: Final = 2


@dataclass(frozen=True)
class Plan:
    """A checked recipe.

    Attributes:
        id: A digest of the recipe, of the places of its files, and of its inputs.
        given: The recipe as the client gave it.
        data: The recipe with paths of this machine.
        reads: What it reads, by the client's names.
        writes: What it writes, by the client's names.
        operators: The names of its operators, in order.
        graph: A picture of it, SVG.
        dry_run: The result on a few samples; None if it was not tried.
        inputs: By the client's names of the sources, their paths and their digests; see `mark_of`.
    """

    id: str
    given: dict[str, Any]
    data: dict[str, Any]
    reads: list[str]
    writes: list[str]
    operators: list[str]
    graph: str
    dry_run: dict[str, Any] | None
    inputs: dict[str, list[str]]


def refuse_changed(inputs: Mapping[str, list[str]]) -> None:
    """Refuse inputs that are not those of a plan any more.

    Args:
        inputs: The `inputs` of the plan.

    Raises:
        ServiceError: A source was replaced, changed, removed or created since the plan was made.
    """
    for name, (path, mark) in inputs.items():
        if mark_of(path) != mark:
            raise ServiceError(409, "input_changed", f"{name} has changed since the plan was made; make the plan again")


class Plans:
    """The plans of a service, in a directory.

    Args:
        directory: The directory.
        roots: The directories of the service.
        allowed: Operators that run code or connect to servers and are allowed nevertheless.
        dry_run_seconds: How long a dry run may take.
    """

    def __init__(self, directory: Path, roots: Roots, allowed: frozenset[str], dry_run_seconds: float = 60.0) -> None:
        self._directory, self._roots, self._allowed = directory, roots, allowed
        self._seconds = dry_run_seconds
        self._free = threading.BoundedSemaphore(_DRY_RUNS_AT_ONCE)
        directory.mkdir(parents=True, exist_ok=True)

    def make(self, recipe: str | dict[str, Any], *, samples: int = DRY_RUN_SAMPLES) -> Plan:
        """Check a recipe, and try it on a few samples.

        Args:
            recipe: The recipe, as YAML or plain data; files are named as `ROOT/path`.
            samples: How many samples of each source to try it on; 0: none.

        Raises:
            ServiceError: The recipe has mistakes, or does something that is not allowed.
        """
        placed = place(recipe, self._roots, self._allowed)
        try:
            checked = without_code(placed.recipe)
        except RecipeError as error:
            raise refused(error, self._roots) from None
        # Before the dry run, so that a replacement during it is noticed.
        paths = [source.path for source in placed.recipe.sources if source.query is None]
        inputs = {self._roots.hidden(path): [path, mark_of(path)] for path in paths}
        text = json.dumps([placed.data, inputs], sort_keys=True)
        plan_id = sha256(text.encode()).hexdigest()[:32]
        path = self._path(plan_id)
        if not path.exists() and sum(1 for _ in self._directory.iterdir()) >= _MAX_PLANS:
            raise ServiceError(507, "too_many_plans", f"there are {_MAX_PLANS:,} plans; remove old ones")
        given = recipe_data(recipe)
        operators = [step.operator.name for step in checked.steps]
        graph = document(picture_of(checked).with_text(self._roots.hidden))
        dry_run = self._dry_run(placed.data, samples) if samples else None
        plan = Plan(plan_id, given, placed.data, placed.reads, placed.writes, operators, graph, dry_run, inputs)
        publish_text(path, json.dumps(plan.__dict__))
        return plan

    def get(self, plan_id: str) -> Plan:
        """A plan by its id.

        Raises:
            ServiceError: There is no such plan.
        """
        if not plan_id.isalnum():
            raise not_found(f"there is no plan {plan_id[:40]!r}")
        try:
            return Plan(**json.loads(self._path(plan_id).read_bytes()))
        except (OSError, ValueError, TypeError):
            raise not_found(f"there is no plan {plan_id[:40]!r}; make it with POST /v1/plans") from None

    def _path(self, plan_id: str) -> Path:
        return self._directory / f"{plan_id}.json"

    def _dry_run(self, data: dict[str, Any], samples: int) -> dict[str, Any]:
        arguments = ["trial", str(samples), str(_EXAMPLES)]
        if not self._free.acquire(timeout=self._seconds):
            raise ServiceError(503, "busy", "other plans are tried; ask again later", retry_seconds=10)
        try:
            answer = run_child(arguments, json.dumps(data), seconds=self._seconds)
        finally:
            self._free.release()
        if answer is None:
            return {"error": f"it did not end within {self._seconds:g} s"}
        return json.loads(self._roots.hidden(answer))
