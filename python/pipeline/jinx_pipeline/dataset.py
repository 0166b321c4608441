"""The main class of the library: load, process, run, export."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

import jinx
from jinx_pipeline.engines.cluster import Cluster
from jinx_pipeline.engines.ray.cluster import Ray
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import FusedOp
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.operators.script.function_op import KeepIf, MergeColumns, function_operator
from jinx_pipeline.recipe.errors import Place
from jinx_pipeline.recipe.export import Export, ExportKind
from jinx_pipeline.recipe.model import REQUESTS, Options, Recipe, SourceSpec, Step, with_requests
from jinx_pipeline.run import Run, RunResult
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.sample.validators import Validator

if TYPE_CHECKING:
    import numpy.typing as npt

# The maximum batch size of `take`.
_MAX_TAKE_ROWS = 1024

PathLike = str | os.PathLike[str]
Function = Callable[[Any], Any]
OneStep = Operator | str | Mapping[str, Mapping[str, Any] | None] | Function


class BadRowsWarning(UserWarning):
    """Rows are not in the output because something failed on them."""


@dataclass(frozen=True)
class Dataset:
    """Samples with operators to run on them; nothing runs before `run` or `export`.

        ds = jp.Dataset.load("in.jinx").process([jp.ops.TextLengthFilter(min_len=10), my_function])
        ds.export("out.jinx")

    Attributes:
        recipe: The recipe so far.
    """

    recipe: Recipe

    @classmethod
    def load(
        cls,
        source: Any,
        *,
        text: str = "text",
        images: str = "images",
        audios: str = "audios",
        videos: str = "videos",
        roles: Roles | None = None,
        validators: Iterable[Validator] = (),
    ) -> Self:
        """Load a dataset.

        Args:
            source: A path: JINX, saved views and MDS are read directly; anything else that `jinx.convert` reads,
                including JSON lines, is converted once. A list of paths, or of `SourceSpec` with weights and limits,
                is a mixture. A jinx, Hugging Face or Ray Data dataset is written to a temporary dataset first.
            text: The column or path of the texts, such as `messages[*].content`.
            images: The column or path of the images.
            audios: The column or path of the audios.
            videos: The column or path of the videos.
            roles: All of these in one object, with more options.
            validators: Checks of the samples; if one fails, the run stops before any operator, and names the row.
        """
        resolved_roles = roles or Roles(text=text, images=images, audios=audios, videos=videos)
        sources = _sources(source)
        if sources is None:
            sources = (SourceSpec(_written(source)),)
            if resolved_roles.media_root is None:
                # A temporary file's path does not show where the media are, so samples in memory may name any file.
                resolved_roles = replace(resolved_roles, media_root=os.getcwd(), media_outside=True)  # noqa: PTH109 - str in, str out
        return cls(Recipe(sources, resolved_roles, (), validators=tuple(validators)))

    def process(
        self,
        operators: "OneStep | Iterable[OneStep]",
        *,
        resources: Resources | Mapping[str, Any] | None = None,
        batch_rows: int | None = None,
    ) -> Self:
        """The dataset with more operators at the end.

            ds.process(jp.ops.ImageTextSimilarityFilter(), resources={"gpus": 0.5}, batch_rows=64)

        Args:
            operators: An operator, its name, `{name: parameters}` as in a recipe, a function
                `sample -> sample | None | list of samples`, or several of these.
            resources: The resources of the workers of each operator, in place of those that it declares: `cpus`,
                `gpus`, `memory`.
            batch_rows: Rows that each operator sees at once, in place of its own `batch_size`.
        """
        items: list[Any] = [operators]
        is_one = isinstance(operators, Operator | str | Mapping) or callable(operators)
        if isinstance(operators, Iterable) and not is_one:
            items = list(operators)
        requests = {"resources": resources, "batch_rows": batch_rows}
        steps = [
            _step(item, Place(path=f"process[{number}]"), requests)
            for number, item in enumerate(items, len(self.recipe.steps))
        ]
        return type(self)(replace(self.recipe, steps=(*self.recipe.steps, *steps)))

    def export(
        self,
        path: PathLike,
        *,
        kind: ExportKind | None = None,
        shard_size: int | str | None = None,
        keep_stats: bool = True,
        overwrite: bool = False,
        restart: bool = False,
        typed_stats: bool = False,
        append: bool = False,
        progress: Literal["auto", "plain", "none"] = "none",
        engine: "Ray | Literal['local', 'ray'] | None" = None,
        cluster: Cluster | None = None,
        **options: Any,
    ) -> RunResult:
        """Run the operators and write the result; an interrupted run is resumed.

        Args:
            path: The output: `out.jinx`, a directory of shards, or a name whose suffix implies the format.
            kind: The format, if the name does not imply it; `"view"` writes a saved view, which copies no samples.
            shard_size: Size of the shards of a directory, `"512MB"` or bytes.
            keep_stats: Keep the statistics of filters under `__dj__stats__`.
            overwrite: Replace an existing output.
            restart: Discard the work of an interrupted run.
            typed_stats: In a view, store numeric statistics as columns `__dj__stats__.NAME` of their own, which are
                arrays; see `Export`.
            append: Add to an existing directory of shards.
            progress: How to show progress on standard error.
            engine: Run on this machine, or on a Ray cluster: `jp.Ray(address="auto")`.
            cluster: A cluster whose workers run the operators, instead of an engine; the workers stay for the next run.
            **options: See `Options`: `workers`, `work_dir`, `seed`, `memory`, `max_bad_rows`, `trace` and others.

        Warns:
            BadRowsWarning: More rows than `max_bad_rows` are not in the output because something failed on them;
                `bad_rows` of the result lists them.

        Raises:
            FileExistsError: The output exists.
            RecipeError: An operator reads a column that does not exist, or needs what this machine lacks.
            ChangedError: An interrupted run of this output had another recipe or input.
            StoppedError: The run stopped; call it again to resume.
            ConnectionError: No Ray cluster answers.
        """
        if engine is not None:
            if cluster is not None:
                raise ValueError("give engine or cluster, not both: a cluster determines where the run takes place")
            options["engine"] = engine
        from jinx_pipeline.recipe.output_kind import kind_of, refuse_other_name

        if options.get("ray_address") is not None and options.get("engine", self.recipe.options.engine) == "local":
            raise ValueError("ray_address is for the engine ray; add engine='ray'")
        output_path = os.fsdecode(path)
        if kind is not None:
            refuse_other_name(output_path, kind)
        export = Export(
            output_path, kind or kind_of(output_path), shard_size, keep_stats, overwrite, typed_stats, append
        )
        recipe = replace(self.recipe, export=export, options=replace(self.recipe.options, **_known(options)))
        result = Run(recipe, progress=progress, restart=restart, cluster=cluster)()
        if not result.ok:
            warnings.warn(_bad_rows_message(result), BadRowsWarning, stacklevel=2)
        return replace(result, path=os.path.abspath(output_path))  # noqa: PTH100 - str in, str out

    def run(self, **options: Any) -> "jinx.Dataset":
        """Run the operators and open the result, which is in a temporary directory until the process ends.

        Args:
            **options: The options of `export`.

        Warns:
            BadRowsWarning: As for `export`.
        """
        import atexit
        import shutil
        import tempfile

        folder = tempfile.mkdtemp(prefix="jinx-pipeline-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "result")  # noqa: PTH118 - str in, str out
        self.export(path, **options)
        return jinx.open(path)

    # Methods named as in Hugging Face Datasets and Data-Juicer.

    def filter(self, condition: "Operator | str | Callable[[Any], Any]") -> Self:
        """The dataset with a filter at the end.

        Args:
            condition: A function `sample -> bool`; a condition over fields, `"1 < n and lang != 'fr'"`, as for
                `general_field_filter`; or an operator.
        """
        if isinstance(condition, Operator):
            return self.process(condition)
        if isinstance(condition, str):
            return self.process({"general_field_filter": {"filter_condition": condition}})
        if not callable(condition):
            raise TypeError(f"filter takes a function, a condition or an operator, not {type(condition).__name__}")
        return self.process(KeepIf(condition))

    def map(self, function: "Operator | Function") -> Self:
        """The dataset with a function at the end that returns columns to add or replace.

        Args:
            function: `sample -> dict`, or an operator. `process` takes functions that return whole samples.
        """
        return self.process(function if isinstance(function, Operator) else MergeColumns(function))

    def take(self, count: int = 5) -> list[dict[str, Any]]:
        """The first samples of the result as plain dicts; operators run in this process on as few samples as needed.

        Raises:
            TypeError: An operator looks at all samples; run the dataset first.
        """
        from jinx_pipeline.operators.api.context import Context
        from jinx_pipeline.operators.api.operator_kinds import GLOBAL_KINDS
        from jinx_pipeline.plan.media_root import with_media_root

        operators = [step.operator for step in self.recipe.steps]
        for operator in operators:
            if operator.kind in GLOBAL_KINDS:
                raise TypeError(f"{operator.name} looks at all samples; run() first, and take of its result: run()[:5]")
        samples, positions = self._as_read()
        roles, ctx = with_media_root(self.recipe).roles, Context(seed=self.recipe.options.seed)
        taken_samples: list[dict[str, Any]] = []
        first, size = 0, max(count, 1)
        while len(taken_samples) < count and first < len(positions):
            batch: Any = Batch(samples, positions[first : first + size], roles)
            if operators:
                batch = FusedOp(operators=operators).run(batch, ctx)
            taken_samples += batch.take(np.arange(min(len(batch), count - len(taken_samples)))).to_samples()
            first, size = first + size, min(2 * size, _MAX_TAKE_ROWS)
        return taken_samples

    def show(self, count: int = 5) -> "SampleTable":
        """Like `take`, but as a table for a notebook or a prompt; in a script, use `print(ds.show())`."""
        return SampleTable(self.take(count))

    def to_pandas(self, columns: str | Iterable[str] | None = None, **options: Any) -> Any:
        """The result as a pandas DataFrame; operators are run first.

        Args:
            columns: The columns; None: all.
            **options: The options of `run`.
        """
        return self._result(options).to_pandas(columns)

    def to_hf(self, *, streaming: bool = False, **options: Any) -> Any:
        """The result as a Hugging Face `datasets` object; operators are run first.

        Args:
            streaming: Return an `IterableDataset`, which reads samples on access.
            **options: The options of `run`.
        """
        return self._result(options).to_hf(streaming=streaming)

    @property
    def columns(self) -> list[str]:
        """The names of the columns; a dataset with operators must be `run` first."""
        self._refuse_lazy("has no columns", "run().column_names, or input().column_names for the input's")
        return self.input().column_names

    def __len__(self) -> int:
        self._refuse_lazy("has no length", "len(ds.run()), or count() for the samples of the input")
        return len(self._as_read()[1])

    def __bool__(self) -> bool:
        return True  # `len` fails if the dataset has operators

    def __getitem__(self, key: Any) -> Any:
        self._refuse_lazy("has no samples", "take(5) for the first ones, or run()[...]")
        samples, positions = self._as_read()
        return samples[key] if isinstance(key, str) else samples.select(positions)[key]

    def __iter__(self) -> Iterator[Any]:
        self._refuse_lazy("has no samples", "take(5) for the first ones, or run() and iterate over its result")
        samples, positions = self._as_read()
        return iter(samples.select(positions))

    def __repr__(self) -> str:
        sources = ", ".join(source.path for source in self.recipe.sources)
        names = " -> ".join(step.operator.name for step in self.recipe.steps)
        steps = f", {names}; not run: take(5), run() or export(path)" if names else ""
        return f"Dataset({sources}{steps})"

    def _refuse_lazy(self, problem: str, advice: str) -> None:
        """Refuse an access that needs the operators to have run.

        Raises:
            TypeError: There are operators.
        """
        if self.recipe.steps:
            raise TypeError(f"a dataset whose operators have not run {problem}; use {advice}")

    def _result(self, options: dict[str, Any]) -> "jinx.Dataset":
        if self.recipe.steps or options:
            return self.run(**options)
        samples, positions = self._as_read()
        return samples if len(positions) == len(samples) else samples.select(positions)

    def _as_read(self) -> "tuple[jinx.Dataset, npt.NDArray[np.int64]]":
        """The samples of all sources, and the positions of those that a run reads, in its order."""
        from jinx_pipeline.plan.mixture import mixture_order

        sources = self.recipe.sources
        samples = self.input()
        rows = [len(samples)] if len(sources) == 1 else [len(jinx.open(source.path)) for source in sources]
        order = mixture_order(sources, rows, self.recipe.options.seed)
        return samples, np.arange(len(samples)) if order is None else order

    # Methods that describe the input.

    def input(self) -> "jinx.Dataset":
        """The dataset before any operator."""
        paths = [source.path for source in self.recipe.sources]
        return jinx.open(paths[0] if len(paths) == 1 else paths)

    def schema(self) -> dict[str, str]:
        """The columns of the input and their types."""
        return self.input().schema

    def count(self) -> int:
        """The number of samples in the input."""
        return len(self.input())

    def head(self, count: int = 5) -> list[dict[str, Any]]:
        """The first samples of the input, as plain dicts."""
        return self.input()[:count].to_list()


class SampleTable:
    """Samples as a table, in a notebook and at a prompt.

    Attributes:
        samples: The samples as plain dicts.
    """

    def __init__(self, samples: list[dict[str, Any]]) -> None:
        self.samples = samples

    def __repr__(self) -> str:
        from jinx._dataset.display import samples_text

        return samples_text(self.samples) if self.samples else "no samples"

    def _repr_html_(self) -> str:
        from jinx._dataset.display import samples_html

        return samples_html(self.samples) if self.samples else "no samples"


def _known(options: dict[str, Any]) -> dict[str, Any]:
    from jinx._suggest import hint

    known = Options.__dataclass_fields__
    engine = options.get("engine")
    if isinstance(engine, Ray):
        options = {**options, **engine.options()}
    for name in options:
        if name not in known:
            raise TypeError(f"there is no option {name!r}{hint(name, known)}")
    return options


def _step(item: Any, place: Place, requests: dict[str, Any]) -> Step:
    if isinstance(item, Mapping) and len(item) == 1:  # pyright: ignore[reportUnknownArgumentType]
        [(name, parameters)] = item.items()  # pyright: ignore[reportUnknownVariableType]
        if isinstance(parameters, Mapping):
            own = {key: value for key, value in parameters.items() if key in REQUESTS}  # pyright: ignore[reportUnknownVariableType]
            item = {name: {key: value for key, value in parameters.items() if key not in own}}  # pyright: ignore[reportUnknownVariableType]
            requests = {**requests, **own}
    return with_requests(Step(_operator(item), place), **requests)


def _operator(item: Any) -> Operator:
    if isinstance(item, Operator):
        return item
    from jinx_pipeline.operators.api.registry import create

    if isinstance(item, str):
        return create(item)
    if isinstance(item, Mapping):
        entries = list(item.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if len(entries) != 1 or not isinstance(entries[0][0], str) or not isinstance(entries[0][1] or {}, Mapping):
            raise TypeError(f"an operator is {{name: {{parameter: value}}}}, one in each mapping, not {item!r}")
        return create(entries[0][0], **(entries[0][1] or {}))
    if isinstance(item, type):
        raise TypeError(f"{item.__name__} is a class; make an operator of it: {item.__name__}(...)")
    if callable(item):
        return function_operator(item)
    raise TypeError(f"an operator, its name or a function is needed, not {type(item).__name__}")


def _bad_rows_message(result: RunResult) -> str:
    count, first = len(result.bad_rows), result.bad_rows[0]
    rows = f"{count:,} of {result.rows_in + result.rows_unreadable:,} rows are" if count > 1 else "a row is"
    error = " ".join(first.error.split())
    return (
        f"{rows} not in the output because something failed; the first: {first.place}: "
        f"{first.operator or 'worker'}: {error}; see {result.work_dir}/quarantine.jsonl"
    )


def _named(source: "PathLike | SourceSpec") -> SourceSpec:
    """A source with an absolute path, so that it does not depend on the working directory."""
    spec = source if isinstance(source, SourceSpec) else SourceSpec(os.fsdecode(source))
    if "://" in spec.path or not spec.path:
        return spec
    return replace(spec, path=os.path.abspath(spec.path))  # noqa: PTH100 - the path may be a pattern


def _sources(source: Any) -> tuple[SourceSpec, ...] | None:
    """The named files; None for samples in memory."""
    if isinstance(source, str | os.PathLike | SourceSpec):
        return (_named(source),)
    if (
        isinstance(source, Sequence)
        and source
        and all(isinstance(path, str | os.PathLike | SourceSpec) for path in source)
    ):  # pyright: ignore[reportUnknownVariableType]
        return tuple(_named(path) for path in source)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return None


def _written(source: Any) -> str:
    """Write a dataset in memory to files that workers can open; they are removed when the process ends."""
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="jinx-pipeline-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "input.jinx")  # noqa: PTH118 - str in, str out
    if isinstance(source, jinx.Dataset) and not source._transforms:
        source.save(path)
    elif type(source).__module__.startswith("ray.data."):
        jinx.convert(getattr(source, "iter_rows")(), path)  # noqa: B009 - the class is from an optional package
    else:
        jinx.convert(source, path)
    return path
