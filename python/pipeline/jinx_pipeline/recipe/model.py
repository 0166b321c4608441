"""A checked recipe."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from math import isfinite
from typing import Any, Literal, get_type_hints

from jinx._sizes import parse_size
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import fitted
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.recipe.errors import Place
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.sample.validators import Validator

ExportKind = Literal["jinx", "view", "jsonl", "parquet", "mds", "webdataset"]


@dataclass(frozen=True)
class SourceSpec:
    """One source of samples.

    Attributes:
        path: A dataset, or anything that `jinx.convert` reads.
        weight: Of a mixture: the share of the samples, relative to the other sources; 0 leaves the source out.
        max_samples: At most so many of its samples, at least 1; None: all.
    """

    path: str
    weight: float = 1.0
    max_samples: int | None = None

    def __post_init__(self) -> None:
        _fit_fields(self)
        if not (isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"weight is a number of at least 0, not {self.weight}")
        if self.max_samples is not None and self.max_samples < 1:
            raise ValueError(f"max_samples is at least 1, not {self.max_samples}")


@dataclass(frozen=True)
class StepPort:
    """The rows that leave a step through one of its ports.

    Attributes:
        step: The number of the step, from 0; None: the sources.
        port: `"out"`; `"dropped"`: the rows that a filter drops (`"kept"` are then those that go out); `"failed"`: the
            rows, as the step has read them, on which its operator failed; those that ended their worker are in the
            quarantine alone.
    """

    step: int | None
    port: str = "out"


@dataclass(frozen=True)
class Step:
    """An operator in its place.

    Attributes:
        operator: It, with its parameters.
        place: Where the recipe names it.
        parameter_places: Where the recipe names each parameter.
        given_resources: What its workers must have, in place of what it declares.
        batch_rows: Rows that it sees at once, in place of its own `batch_size`.
        inputs: What it reads: of each block, the rows of one port after those of another. None: what the step before
            it makes, or the sources.
    """

    operator: Operator
    place: Place = field(default_factory=Place)
    parameter_places: Mapping[str, Place] = field(default_factory=dict[str, Place])
    given_resources: Resources | None = None
    batch_rows: int | None = None
    inputs: tuple[StepPort, ...] | None = None

    @property
    def resources(self) -> Resources:
        """What its workers must have."""
        return self.operator.resources if self.given_resources is None else self.given_resources


REQUESTS = ("resources", "batch_rows")
"""What a recipe may say of every operator, besides its parameters."""


class RequestError(ValueError):
    """What a recipe says of an operator makes no sense.

    Attributes:
        name: Which of `REQUESTS`.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def with_requests(
    step: Step, *, resources: Resources | Mapping[str, Any] | None = None, batch_rows: int | None = None
) -> Step:
    """A step with the workers and batches that a recipe wants for it.

    Args:
        step: The operator.
        resources: Such as `{"gpus": 0.5, "memory": "8GB"}`; what is not named is as the operator declares it.
        batch_rows: Rows that it sees at once.

    Raises:
        RequestError: One of them makes no sense.
    """
    if isinstance(resources, Mapping):
        try:
            resources = step.operator.resources.updated(resources)
        except ValueError as error:
            raise RequestError("resources", str(error)) from None
    if resources is not None and not isinstance(resources, Resources):  # pyright: ignore[reportUnnecessaryIsInstance] - of a recipe
        raise RequestError("resources", f"resources is a mapping with cpus, gpus and memory, not {resources!r}")
    if batch_rows is not None and (type(batch_rows) is not int or batch_rows < 1):
        raise RequestError("batch_rows", f"batch_rows is a whole number of at least 1, not {batch_rows!r}")
    return replace(step, given_resources=resources, batch_rows=batch_rows)


@dataclass(frozen=True)
class Export:
    """What becomes of the result.

    Attributes:
        path: The output.
        kind: Its format; `view` is a saved view over the input, which copies no sample.
        shard_size: Size of the shards of a directory, `"512MB"` or bytes; None: that of a block's output, at least
            16 MB where there is so much. Not for one file.
        keep_stats: Whether the statistics of filters stay under `__dj__stats__`.
        overwrite: Replace an existing output.
    """

    path: str
    kind: ExportKind = "jinx"
    shard_size: int | str | None = None
    keep_stats: bool = True
    overwrite: bool = False

    def __post_init__(self) -> None:
        _fit_fields(self)
        if self.shard_size is None:
            return
        if self.kind == "view" or (self.kind == "jinx" and self.path.endswith(".jinx")):
            raise ValueError(
                f"{self.path}: shard_size is for a directory of shards, and this is one file; leave it out"
            )
        parse_size(self.shard_size)


@dataclass(frozen=True)
class Options:
    """How a recipe is run; none of them changes the result, but for `seed` and `batch_rows`.

    Attributes:
        work_dir: Where finished blocks, the log and the rejected rows are kept; None: next to the output, with `.work`
            after its name. It stays after the run, for runs on a grown input, and may be deleted then,
            unless the output is a view of an input that was converted.
        seed: Of everything that is random.
        workers: Processes for operators that need the same, and no GPU; None: one for each core, or fewer where they
            would not fit into memory. On Ray as many as the cluster has room for, by `ray_resources`, `memory` and what
            operators need.
        memory: Bytes or `"4GB"` that a worker may use; None: its share of nine tenths of the machine's memory, or on
            Ray what its node has.
        row_seconds: A worker that finishes no row for so long is ended, and the row that hangs is left out; an operator
            that takes a batch at once may take so long for each of its rows. None: no limit. There is none either in
            stages whose operators need a GPU or memory, and for operators that use `ctx.model` or `ctx.ask`.
        threads: Threads with which a worker reads and computes.
        batch_rows: Rows that operators see at once; None: what the operators ask for, or fewer where memory is short
            and no result depends on it.
        block_rows: Rows of a block; None: by size.
        max_bad_rows: More rows than this on which something failed make the exit code 1.
        stop_after_bad: More of them than this stop the run.
        trace: Examples of changed and dropped rows to keep of each operator.
        reorder: Whether filters that commute are run in the order of their measured speed.
        custom_operators: Python files with operators.
        engine: `"local"`: processes on this machine; `"ray"`: workers on a Ray cluster.
        ray_address: `"auto"`, `"local"` or `"host:port"`; see `Ray`.
        ray_resources: What one worker on Ray takes, with Ray's names; if not given, what operators need.
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
        _fit_fields(self)
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} is at least {least}, not {value}")
        if self.row_seconds is not None and not (isfinite(self.row_seconds) and self.row_seconds > 0):
            raise ValueError(f"row_seconds is a number above 0, or none for no limit, not {self.row_seconds}")
        if self.seed >= 1 << 64:
            raise ValueError(f"seed is at most 2**64 - 1, not {self.seed}")
        if self.memory is not None:
            parse_size(self.memory)


def _fit_fields(made: Any) -> None:
    """Give the fields of a dataclass values of their types.

    Raises:
        TypeError: One does not fit.
    """
    for name, kind in get_type_hints(type(made)).items():
        try:
            object.__setattr__(made, name, fitted(getattr(made, name), kind))
        except TypeError as error:
            raise TypeError(f"{name} {error}") from None


_LEAST = {
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
    """What is to be done.

    Attributes:
        sources: Where the samples come from.
        roles: Where their texts and media are.
        steps: The operators, in order.
        export: Where the result goes; None: it is only asked about.
        options: How to run it.
        file: The file it was read from.
        only_rows: Only these rows of the input; None: all.
        measure_only: Filters add their statistics and drop nothing.
        validators: Checks of the input before any operator runs.
        known_stats: Statistics that the input has, with the digest of the filter that computed each.
        source_places: Where a file names each source; empty for a recipe made in Python.
        code_place: Where `custom_operators` are named that `resolve` loads; None: none are, or a recipe made in Python
            has its operators.
        outputs: What each output takes, as `Step.inputs`; empty: one output, of what the last step makes.
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
    validators: tuple[Validator, ...] = ()
    source_places: tuple[Place, ...] = ()
    code_place: Place | None = None
    outputs: tuple[tuple[StepPort, ...], ...] = ()

    @property
    def step_inputs(self) -> list[tuple[StepPort, ...]]:
        """What each step reads."""
        return [
            (StepPort(number - 1 if number else None),) if step.inputs is None else step.inputs
            for number, step in enumerate(self.steps)
        ]

    @property
    def output_inputs(self) -> list[tuple[StepPort, ...]]:
        """What each output takes."""
        return list(self.outputs) or [(StepPort(len(self.steps) - 1 if self.steps else None),)]

    def described(self) -> dict[str, Any]:
        """What determines the result, as plain data: a changed recipe is told by it."""
        export = self.export
        return {
            "sources": [asdict(source) for source in self.sources],
            "roles": json.loads(json.dumps(asdict(self.roles))),
            "process": [
                {
                    "operator": step.operator.name,
                    "digest": step.operator.digest,
                    "parameters": _plain(step.operator),
                    **({} if step.batch_rows is None else {"batch_rows": step.batch_rows}),
                }
                for step in self.steps
            ],
            "export": None if export is None else {**asdict(export), "overwrite": None},
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
        """Whether some step or output reads something else than the step before it."""
        return bool(self.outputs) or any(step.inputs is not None for step in self.steps)

    @property
    def _edges(self) -> "list[list[list[list[Any]]]] | None":
        """What steps and outputs read; None: each step reads the one before it."""
        if not self.has_branches:
            return None
        return [
            [[[port.step, port.port] for port in ports] for ports in side]
            for side in (self.step_inputs, self.output_inputs)
        ]

    @property
    def digest(self) -> str:
        """32 hex digits that any change of the result would change."""
        return sha256(json.dumps(self.described(), sort_keys=True).encode()).hexdigest()[:32]

    @property
    def content_digest(self) -> str:
        """As `digest`, but the same wherever inputs and output are, whatever the output's format and its blocks."""
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


def _plain(operator: Operator) -> dict[str, Any]:
    return {name: _shown(value) for name, value in operator.parameters.items()}


def _shown(value: Any) -> Any:
    """A value as a log holds it: what JSON would change or refuse (infinity, a function) is shown as text."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        # Without addresses, which are others in each process: the digest of the operator covers what is behind them.
        return getattr(value, "__qualname__", None) or re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))[:200]
