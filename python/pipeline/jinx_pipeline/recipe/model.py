"""The data classes of a checked recipe."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from hashlib import sha256
from itertools import accumulate, pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

from jinx._sizes import parse_size
from jinx_pipeline.database.address import address_of
from jinx_pipeline.database.columns import columns_of
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.recipe.errors import Place
from jinx_pipeline.recipe.export import Export, fit_fields
from jinx_pipeline.sample.roles import Roles

if TYPE_CHECKING:
    from jinx_pipeline.sample.validators import Validator


@dataclass(frozen=True)
class TableQuery:
    """A query whose rows are samples.

    Attributes:
        database: A SQLite file, the URL of a PostgreSQL server, or `env:NAME`, an environment variable with one.
        query: The query, which says the order of the rows.
        columns: The type of each column: `str`, `int`, `float`, `bool`, `bytes` or `json`.
    """

    database: str
    query: str
    columns: Mapping[str, str]

    def __post_init__(self) -> None:
        fit_fields(self)
        columns_of(self.columns)
        if not self.columns:
            raise ValueError("columns is empty; declare the columns of the query")
        if not self.database.startswith("env:"):
            address_of(self.database)

    @property
    def name(self) -> str:
        """A name for messages and files."""
        facts = json.dumps([self.database, self.query, dict(self.columns)])
        return f"query-{sha256(facts.encode()).hexdigest()[:16]}"


class LateQuery(TableQuery):
    """A query that waits for other nodes of a graph: an operator selects its rows when these are complete."""

    @property
    def name(self) -> str:
        """A name for messages and files."""
        return f"late-{super().name}"


@dataclass(frozen=True)
class SourceSpec:
    """One source of samples.

    Attributes:
        path: A dataset, or anything that `jinx.convert` reads.
        weight: In a mixture, the share of the samples relative to the other sources; 0 leaves the source out.
        max_samples: The maximum number of its samples, at least 1; None: all.
        query: A query in place of a dataset; `path` is then its name.
    """

    path: str
    weight: float = 1.0
    max_samples: int | None = None
    query: TableQuery | None = None

    def __post_init__(self) -> None:
        fit_fields(self)
        if not (isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"weight is a number of at least 0, not {self.weight}")
        if self.max_samples is not None and self.max_samples < 1:
            raise ValueError(f"max_samples is at least 1, not {self.max_samples}")


@dataclass(frozen=True)
class StepPort:
    """The rows that leave a step through one of its ports.

    Attributes:
        step: The number of the step, from 0; None: the sources.
        port: `"out"`; `"dropped"`: the rows that a filter drops (`"kept"` is then the same as `"out"`); `"failed"`: the
            rows on which the operator failed, as the step read them. Rows that killed their worker are only in the
            quarantine.
        group: For the sources, the number of the group; see `Recipe.source_groups`.
    """

    step: int | None
    port: str = "out"
    group: int = 0


@dataclass(frozen=True)
class Step:
    """An operator in a recipe.

    Attributes:
        operator: The operator, with its parameters.
        place: Its place in the recipe.
        parameter_places: The place of each parameter.
        given_resources: The resources of its workers, instead of the resources that the operator declares.
        batch_rows: Rows that it sees at once, in place of its own `batch_size`.
        inputs: The ports that it reads; in each block, their rows are concatenated. None: the output of the step
            before it, or the sources.
        after: Ports whose rows must be complete before it begins.
        name: The name of its node in a graph; empty if it has none.
    """

    operator: Operator
    place: Place = field(default_factory=Place)
    parameter_places: Mapping[str, Place] = field(default_factory=dict[str, Place])
    given_resources: Resources | None = None
    batch_rows: int | None = None
    inputs: tuple[StepPort, ...] | None = None
    after: tuple[StepPort, ...] = ()
    name: str = ""

    @property
    def resources(self) -> Resources:
        """The resources that a worker needs for this step."""
        return needs_of(self.operator) if self.given_resources is None else self.given_resources


def needs_of(operator: Operator) -> Resources:
    """The resources that an operator and its models need."""
    return reduce(Resources.at_least, (model.resources for model in operator.models.values()), operator.resources)


REQUESTS = ("resources", "batch_rows")
"""Settings that a recipe can give to any operator, in addition to the operator's parameters."""


class RequestError(ValueError):
    """Raised when a setting of an operator in a recipe is invalid.

    Attributes:
        name: The name of the setting, one of `REQUESTS`.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def with_requests(
    step: Step, *, resources: Resources | Mapping[str, Any] | None = None, batch_rows: int | None = None
) -> Step:
    """The step with the resources and batch size that a recipe requests.

    Args:
        step: The step.
        resources: Such as `{"gpus": 0.5, "memory": "8GB"}`; resources that are missing stay as the operator declares.
        batch_rows: Rows that it sees at once.

    Raises:
        RequestError: A setting is invalid.
    """
    if isinstance(resources, Mapping):
        try:
            resources = needs_of(step.operator).updated(resources)
        except ValueError as error:
            raise RequestError("resources", str(error)) from None
    if resources is not None and not isinstance(resources, Resources):  # pyright: ignore[reportUnnecessaryIsInstance] - the value may come from a recipe
        raise RequestError("resources", f"resources is a mapping with cpus, gpus and memory, not {resources!r}")
    if batch_rows is not None and (type(batch_rows) is not int or batch_rows < 1):
        raise RequestError("batch_rows", f"batch_rows is a whole number of at least 1, not {batch_rows!r}")
    return replace(step, given_resources=resources, batch_rows=batch_rows)


@dataclass(frozen=True)
class Output:
    """An output of a graph.

    Attributes:
        inputs: The ports that it reads, like `Step.inputs`.
        export: Where it is written; None: the `export` of the recipe.
        after: Ports whose rows must be complete before it begins.
        name: The name of its node; empty if it has none.
        place: Its place in the recipe.
    """

    inputs: tuple[StepPort, ...]
    export: Export | None = None
    after: tuple[StepPort, ...] = ()
    name: str = ""
    place: Place = field(default_factory=Place)


@dataclass(frozen=True)
class Options:
    """The options for running a recipe; only `seed` and `batch_rows` may affect the result.

    Attributes:
        work_dir: The directory for finished blocks, the log and the rejected rows; None: next to the output, with
            `.work` after its name. It stays after the run, for runs on a grown input, and may be deleted, unless the
            output is a view of a converted input.
        seed: The seed of everything random.
        workers: Processes for operators with the same needs and without a GPU; None: as many as there are cores, or
            fewer if they do not fit into memory. On Ray, as many as the cluster has room for, by `ray_resources`,
            `memory` and the needs of operators.
        memory: Bytes or `"4GB"` that a worker may use; None: its share of nine tenths of the machine's memory, or on
            Ray what its node has.
        row_seconds: A worker that finishes no row for this long is ended, and the row that hangs is left out. An
            operator that processes a whole batch has this time for each row of the batch. None: no limit. There is also
            no limit in stages whose operators need a GPU or memory, and for operators that use `ctx.model` or
            `ctx.ask`.
        threads: Threads with which a worker reads and computes.
        batch_rows: Rows that operators see at once; None: what the operators request, or fewer if memory is short and
            no result depends on it.
        block_rows: Rows of a block; None: chosen by size. Where branches of a graph come together, it also determines
            the order of the rows.
        max_bad_rows: The exit code is 1 if something failed on more rows than this.
        stop_after_bad: The run stops if something failed on more rows than this.
        trace: How many examples of changed and dropped rows to keep for each operator.
        reorder: Whether to run filters that commute in the order of their measured speed.
        custom_operators: Python files with operators, or their URLs.
        engine: `"local"`: processes on this machine; `"ray"`: workers on a Ray cluster.
        ray_address: `"auto"`, `"local"` or `"host:port"`; see `Ray`.
        ray_resources: The resources of one worker on Ray, with Ray's names; by default, what operators need.
    """

    work_dir: str | None = None
    seed: int = 0
    workers: int | None = None
    memory: int | str | None = None
    row_seconds: float | None = 300.0
    threads: int = 1
    batch_rows: int | None = None
    block_rows: int | None = None
    max_bad_rows: int = 0
    stop_after_bad: int | None = 10_000
    trace: int = 0
    reorder: bool = True
    custom_operators: tuple[str, ...] = ()
    engine: Literal["local", "ray"] = "local"
    ray_address: str = "auto"
    ray_resources: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        fit_fields(self)
        for name, minimum in _MINIMUMS.items():
            value = getattr(self, name)
            if value is not None and value < minimum:
                raise ValueError(f"{name} is at least {minimum}, not {value}")
        if self.row_seconds is not None and not (isfinite(self.row_seconds) and self.row_seconds > 0):
            raise ValueError(f"row_seconds is a number above 0, or none for no limit, not {self.row_seconds}")
        if self.seed >= 1 << 64:
            raise ValueError(f"seed is at most 2**64 - 1, not {self.seed}")
        if self.memory is not None:
            parse_size(self.memory)


_MINIMUMS = {
    "workers": 1,
    "threads": 1,
    "batch_rows": 1,
    "block_rows": 1,
    "trace": 0,
    "max_bad_rows": 0,
    "seed": 0,
    "stop_after_bad": 0,
}


@dataclass(frozen=True)
class Recipe:
    """A checked recipe.

    Attributes:
        sources: The sources of the samples.
        roles: The columns of texts and media.
        steps: The operators, in order.
        export: The output; None if the recipe has none.
        options: How to run it.
        file: The file that it was read from.
        only_rows: The rows of the input to read; None: all.
        measure_only: Filters add their statistics and drop nothing.
        validators: Checks that the input must pass before any operator runs.
        known_stats: Statistics that the input has, with the digest of the filter that computed each.
        source_places: The place of each source in a file; empty for a recipe built in Python.
        code_place: The place of `custom_operators`, which `resolve` loads; None if there are none, or the recipe was
            built in Python and has its operators.
        outputs: The outputs; empty: one output, of the last step.
        source_groups: How many of the sources each group has: the rows of a group can be read apart from the others.
            Empty: all sources are one group.
        graph: The nodes and flows that the recipe was read from, as plain data; None if it is a list of operators.
        models: The models that its operators can name.
    """

    sources: tuple[SourceSpec, ...]
    roles: Roles
    steps: tuple[Step, ...]
    export: Export | None = None
    options: Options = field(default_factory=Options)
    file: str | None = None
    only_rows: tuple[int, ...] | None = None
    measure_only: bool = False
    known_stats: Mapping[str, str] = field(default_factory=dict[str, str])
    validators: "tuple[Validator, ...]" = ()
    source_places: tuple[Place, ...] = ()
    code_place: Place | None = None
    outputs: tuple[Output, ...] = ()
    source_groups: tuple[int, ...] = ()
    graph: Mapping[str, Any] | None = None
    models: Mapping[str, Model] = field(default_factory=dict[str, Model])

    @property
    def step_inputs(self) -> list[tuple[StepPort, ...]]:
        """The ports that each step reads."""
        return [
            (StepPort(number - 1 if number else None),) if step.inputs is None else step.inputs
            for number, step in enumerate(self.steps)
        ]

    @property
    def all_outputs(self) -> list[Output]:
        """The outputs; if the recipe has none, one for the last step."""
        last = StepPort(len(self.steps) - 1 if self.steps else None)
        outputs = self.outputs or (Output((last,)),)
        return [output if output.export is not None else replace(output, export=self.export) for output in outputs]

    @property
    def exports(self) -> list[Export]:
        """The exports that say where the outputs are written."""
        return [output.export for output in self.all_outputs if output.export is not None]

    def with_exports(self, exports: Sequence[Export]) -> "Recipe":
        """The recipe with its outputs written elsewhere.

        Args:
            exports: One for each output.
        """
        outputs = [replace(output, export=export) for output, export in zip(self.outputs, exports, strict=False)]
        return replace(self, export=exports[0], outputs=tuple(outputs))

    @property
    def groups(self) -> list[range]:
        """The indices of the sources in each group."""
        ends = list(accumulate(self.source_groups or (len(self.sources),)))
        return [range(first, end) for first, end in pairwise([0, *ends])]

    def described(self) -> dict[str, Any]:
        """Everything that determines the result, as plain data, to detect a changed recipe."""
        export = self.export
        return {
            "sources": [asdict(source) for source in self.sources],
            "roles": _json(asdict(self.roles)),
            "process": [
                {
                    "operator": step.operator.name,
                    "digest": step.operator.digest,
                    "parameters": _plain(step.operator),
                    **({} if step.batch_rows is None else {"batch_rows": step.batch_rows}),
                }
                for step in self.steps
            ],
            "export": None if export is None else export.described,
            "outputs": [other.described for other in self.exports[1:]],
            **(
                {"validators": _json([validator.to_data() for validator in self.validators])} if self.validators else {}
            ),
            "edges": self._edges,
            "only_rows": None if self.only_rows is None else list(self.only_rows),
            "measure_only": self.measure_only,
            "options": {
                "seed": self.options.seed,
                "batch_rows": self.options.batch_rows,
                "block_rows": self.options.block_rows,
            },
        }

    @property
    def has_branches(self) -> bool:
        """Whether any step or output reads something other than the step before it."""
        has_groups = len(self.source_groups) > 1
        return has_groups or bool(self.outputs) or any(step.inputs is not None or step.after for step in self.steps)

    @property
    def _edges(self) -> Any:
        """The ports that steps and outputs read and wait for; None if each step just reads the one before it."""
        if not self.has_branches:
            return None
        return [
            [
                [_plain_ports(inputs), _plain_ports(step.after)]
                for inputs, step in zip(self.step_inputs, self.steps, strict=True)
            ],
            [[_plain_ports(output.inputs), _plain_ports(output.after)] for output in self.all_outputs],
            list(self.source_groups),
        ]

    @property
    def digest(self) -> str:
        """A digest of 32 hex digits, which differs if the result may differ."""
        return sha256(json.dumps(self.described(), sort_keys=True).encode()).hexdigest()[:32]

    @property
    def content_digest(self) -> str:
        """Like `digest`, but independent of the paths of inputs and output, the output's format, and blocks."""
        roles = {**asdict(self.roles), "media_root": None}
        facts = [
            [(source.weight, source.max_samples) for source in self.sources],
            roles,
            [step.operator.digest for step in self.steps],
            self._edges,
            self.export is None or self.export.keep_stats,
            self.only_rows,
            self.measure_only,
            self.options.seed,
        ]
        return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def _json(data: Any) -> Any:
    """The data in the form that JSON preserves."""
    return json.loads(json.dumps(data, default=str))


def _plain_ports(ports: Sequence[StepPort]) -> list[list[Any]]:
    return [[port.step, port.port, port.group] for port in ports]


def _plain(operator: Operator) -> dict[str, Any]:
    return {name: _shown(value) for name, value in operator.described_parameters.items()}


def _sorted_members(value: Any) -> list[Any]:
    """The elements of a set, in an order that is the same in every process."""
    if not isinstance(value, set | frozenset):
        raise TypeError(f"{type(value).__name__} has no form in JSON")
    members: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
    return sorted(members, key=lambda member: json.dumps(member, sort_keys=True, default=_sorted_members))


def _shown(value: Any) -> Any:
    """A value as a log holds it: values that JSON would change or refuse (infinity, a function) become strings."""
    if isinstance(value, Model):
        return value.identity
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)  # pyright: ignore[reportUnknownArgumentType]
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=_sorted_members))
    except (TypeError, ValueError):
        # Leave out memory addresses, because they differ in each process. The digest of the operator covers the objects
        # themselves.
        return getattr(value, "__qualname__", None) or re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))[:200]
