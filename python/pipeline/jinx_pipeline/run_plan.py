"""The plan of a run: made once, stored in the run log, and compared with the recipe and inputs in each later call."""

import json
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

import jinx
from jinx_pipeline import _kernels
from jinx_pipeline.database.address import address_of
from jinx_pipeline.database.connection import AwayError, DatabaseError
from jinx_pipeline.engines.engine import Engine
from jinx_pipeline.engines.local.probe import run_probe
from jinx_pipeline.global_ops.decisions import publish_order
from jinx_pipeline.operators.api.annotation import Annotation
from jinx_pipeline.operators.api.keyed import Partitioned
from jinx_pipeline.operators.table.table_upsert import TableUpsert
from jinx_pipeline.plan.blocks import SampleSize, cut
from jinx_pipeline.plan.differences import differences
from jinx_pipeline.plan.graph import PlanNode
from jinx_pipeline.plan.inputs import (
    Input,
    has_grown,
    named_at,
    needs_conversion,
    refuse_input_as_output,
    refuse_private_columns,
)
from jinx_pipeline.plan.mixture import order_of_groups
from jinx_pipeline.plan.output_meta import inherited_meta, output_meta, with_inputs
from jinx_pipeline.plan.outside_media import outside_media_bytes
from jinx_pipeline.plan.planner import (
    Plan,
    joined_paths,
    make_plan,
    mean_row_bytes,
    refuse_impossible,
    writer_options,
)
from jinx_pipeline.plan.probe import measured_bytes, pools_of
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.publish.destination import refuse_place
from jinx_pipeline.publish.place import remove_hidden
from jinx_pipeline.publish.publication import Publication
from jinx_pipeline.publish.publications import Publications
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.recipe.model import Output, Recipe
from jinx_pipeline.recipe.write import as_data
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Grown
from jinx_pipeline.runlog.run_directory import RunDirectory
from jinx_pipeline.runlog.run_log import START_OVER, RunLog, RunLogError
from jinx_pipeline.runlog.work_dir import WorkDir, publish_text
from jinx_pipeline.store.mirror import is_remote, mirrored, shown


@contextmanager
def other_remedy(remedy: str) -> Generator[None]:
    """Replace `START_OVER` in error messages, for a command that lacks its options."""
    try:
        yield
    except ChangedError as error:
        raise ChangedError(str(error).replace(START_OVER, remedy)) from None


class ChangedError(ValueError):
    """Raised if the recipe, an input or the version differs from that of the run to resume; the message says how."""


def work_dir_of(recipe: Recipe) -> Path:
    """The directory in which a recipe keeps its unfinished work."""
    if recipe.options.work_dir is not None:
        return mirrored(recipe.options.work_dir)
    path = recipe.export.path if recipe.export is not None else "pipeline"
    return mirrored(f"{path.rstrip('/')}.work")


def new_run(recipe: Recipe, work_dir: WorkDir, inputs: list[Input], engine: Engine) -> Ledger:
    """Make a plan and begin a run, which replaces an earlier run; a refused plan changes nothing.

    Raises:
        RecipeError: The recipe cannot be run.
        FileExistsError: The output exists.
        ValueError: The output is an input, or lies in one.
    """
    _refuse_outputs(recipe, [*(source.path for source in inputs), *joined_paths(recipe)])
    with work_dir.new_run() as directory:
        plan = _new_plan(recipe, directory, inputs, engine)
        text = json.dumps(as_data(recipe), indent=1, ensure_ascii=False) + "\n"
        publish_text(directory.recipe_path, text, syncs_folder=False)  # `new_run` does it
        RunLog.create(directory.log, directory.run, plan.to_dict())
    return Ledger(directory)


def refuse_outputs_before_conversion(recipe: Recipe) -> None:
    """Refuse outputs that `new_run` would refuse, before inputs are converted, which may take hours.

    Raises:
        FileExistsError: The output exists.
        ValueError: The output is an input.
        OSError: It could not be written.
    """
    for source, place in zip_longest(recipe.sources, recipe.source_places):
        with named_at(place):
            if source.query is not None or needs_conversion(source.path):
                _refuse_outputs(recipe, ())
                return


def _refuse_outputs(recipe: Recipe, input_paths: Sequence[str]) -> None:
    refuse_input_as_output(recipe, input_paths)
    for export in recipe.exports:
        refuse_place(export)


def refuse_equal_outputs(recipe: Recipe) -> None:
    """Refuse outputs that write to the same path.

    Raises:
        RecipeError: Two outputs have the same path, or one has that of a database; the error has the place of the
            second, or of this one.
    """
    written: dict[Path, Output] = {}
    databases = {_place_of(Path(path).absolute()) for path in _sqlite_files(recipe)}
    for output in recipe.all_outputs:
        path = mirrored("" if output.export is None else output.export.path).absolute()
        place = _place_of(path)
        if place in databases:
            message = f"the recipe uses the SQLite database {path} too; choose another path"
            raise RecipeError([(output.place, message)])
        if place in written:
            other = written[place].name
            message = f"another output{f', {other},' if other else ''} writes to {path} too; choose another path"
            raise RecipeError([(output.place, message)])
        written[place] = output


def _place_of(path: Path) -> Path:
    """The path of a file within its directory, to which several names may lead."""
    return path.parent.resolve() / path.name


def _sqlite_files(recipe: Recipe) -> Generator[str]:
    """The databases in tables and queries of a recipe that are files."""
    queries = [source.query for source in recipe.sources if source.query is not None]
    tables = [step.operator for step in recipe.steps if isinstance(step.operator, TableUpsert)]
    for user in (*queries, *tables):
        # A missing environment variable is reported where the address is used.
        with suppress(ValueError):
            address = address_of(user.database)
            if address.kind == "sqlite":
                yield address.target


def _new_plan(recipe: Recipe, directory: RunDirectory, inputs: list[Input], engine: Engine) -> Plan:
    order, group_rows = order_of_groups(recipe, [source.rows for source in inputs])
    rows = sum(group_rows)
    source = Source(tuple(spec.path for spec in inputs))
    order_name = None if order is None else f"rows-{sha256(order.tobytes()).hexdigest()[:16]}.npy"
    if order is not None:
        publish_order(directory.decisions / str(order_name), [order])
        source = replace(source, order=str(directory.decisions / str(order_name)))
    opened = OpenSource(source)
    columns = opened.dataset.column_names
    refuse_private_columns(inputs, columns)
    refuse_impossible(recipe, lacks=engine.lacks, columns=columns if rows else None)
    if recipe.validators:
        from jinx_pipeline.sample.validators import validate

        validate(opened.dataset, recipe.validators, recipe.roles)
    facts = _publish_facts(directory, opened, syncs_folder=False)
    told = None if facts is None else str(directory.decisions / facts)
    findings = run_probe(recipe, replace(source, facts=told), rows)
    fitted = engine.fitted(pools_of(recipe), measured_bytes(recipe, findings))
    row_bytes = mean_row_bytes(opened.dataset.info())
    sample = SampleSize(row_bytes, outside_media_bytes(recipe, opened, rows, row_bytes))
    plan = make_plan(
        recipe, inputs, group_rows, findings, fitted.memory(), sample=sample, order=order_name, versions=versions()
    )
    shows_base = any(output.has_base for output in plan.graph.outputs())
    inherited = inherited_meta(opened.base, directory.path) if shows_base else {}
    return replace(
        plan,
        outputs=_absolute_outputs(recipe),
        facts=facts,
        meta=output_meta(recipe, inputs, versions(), inherited),
    )


def _absolute_outputs(recipe: Recipe) -> list[str]:
    return [shown(mirrored(export.path).absolute()) for export in recipe.exports]


def known_run(recipe: Recipe, work_dir: WorkDir) -> Ledger | None:
    """The ledger of an earlier run of this recipe; None if there is no such run.

    Raises:
        ChangedError: The run is of another recipe, output or version, or a table that it has written is gone.
    """
    work_path = shown(work_dir.path)
    try:
        directory = work_dir.current()
        if directory is None:
            return None
        ledger = Ledger(directory)
        plan = plan_of(ledger)
    except RunLogError as error:
        raise ChangedError(str(error)) from None
    refuse_other_recipe(recipe, plan, work_path)
    if plan.versions != versions():
        changes = "; ".join(differences(plan.versions, versions()))
        raise ChangedError(
            f"{work_path} was begun by another version: {changes}; resume with that version, or {START_OVER}"
        )
    if plan.outputs != _absolute_outputs(recipe):
        names = ", ".join(plan.outputs)
        raise ChangedError(f"{work_path} belongs to the output {names}; use another work_dir, or {START_OVER}")
    _refuse_lost_tables(recipe, ledger)
    return ledger


def _refuse_lost_tables(recipe: Recipe, ledger: Ledger) -> None:
    """Refuse to resume a run whose table was removed: the rows that it has written would not be written again.

    Raises:
        ChangedError: A table or its database does not exist, or the database refuses to say so.
    """
    tables = {place: step.operator for place, step in enumerate(recipe.steps) if isinstance(step.operator, TableUpsert)}
    if not tables:
        return
    written = {figures.number for receipt in ledger.receipts() for figures in receipt.figures if figures.rows_out}
    for operator in (operator for place, operator in tables.items() if place in written):
        try:
            is_gone = not operator.has_table()
        except (AwayError, ImportError):  # workers wait, or report the package that is missing
            continue
        except DatabaseError as error:
            raise ChangedError(f"a table to which this run has written rows cannot be looked at: {error}") from None
        if is_gone:
            raise ChangedError(
                f"this run has written rows to the table {operator.table}, which is gone; restore it, or {START_OVER}"
            )


def plan_of(ledger: Ledger) -> Plan:
    """The plan of a run, including the rows appended to its input since it began."""
    plan = Plan.from_dict(ledger.header.plan)
    for growth in ledger.grown:
        plan = plan.grown(growth)
    return plan


def refuse_other_recipe(recipe: Recipe, plan: Plan, work_path: str | Path) -> None:
    """Refuse a recipe that is not the recipe of a plan.

    Raises:
        ChangedError: It is another recipe, or a file with its operators was edited since.
    """
    if plan.digest != recipe.digest:
        changes = "; ".join(differences(plan.recipe, recipe.described()))
        raise ChangedError(f"{work_path} belongs to another recipe: {changes}; {START_OVER}, or use another work_dir")


def input_has_grown(recipe: Recipe, work_dir: WorkDir, plan: Plan, inputs: list[Input]) -> bool:
    """Whether the input has more rows at its end than the plan.

    Raises:
        ChangedError: The input changed in another way, or the recipe has an operator that cannot take more rows.
    """
    work_path = shown(work_dir.path)
    if len(plan.inputs) == len(inputs) and all(a == b.identity for a, b in zip(plan.inputs, inputs, strict=True)):
        return False
    grown = len(inputs) == len(plan.inputs) == 1 and has_grown(plan.inputs[0], inputs[0].identity, inputs[0].source)
    if grown:
        problem = _needs_all_rows_at_once(recipe, plan)
        if problem is not None:
            raise ChangedError(f"{work_path}: the input has grown, and {problem}; {START_OVER}")
        return True
    changes = [
        f"{source.source}: {'; '.join(differences(planned, source.identity)) or 'changed'}"
        for planned, source in zip(plan.inputs, inputs, strict=False)
        if planned != source.identity
    ]
    raise ChangedError(f"{work_path}: the input changed: {' / '.join(changes)}; {START_OVER}")


def _needs_all_rows_at_once(recipe: Recipe, plan: Plan) -> str | None:
    """Why a recipe cannot continue with more rows; None if it can."""
    if plan.order is not None:
        return "this recipe chooses or mixes rows of its whole input"
    for step in recipe.steps:
        operator = step.operator
        if isinstance(operator, Annotation):
            return f"{operator.name} has asked people about the rows that there were"
        if isinstance(operator, Partitioned) and (operator.other_is_input or operator.other is not None):
            return f"{operator.name} joins all rows at once"
    return None


def refuse_rows_in_tables(recipe: Recipe, ledger: Ledger, nodes: Iterable[PlanNode]) -> None:
    """Refuse to redo work whose rows are already in tables: a row whose sample is now left out would stay there.

    Raises:
        ChangedError: A node has written rows to a table.
    """
    done = set(ledger.nodes())
    for operator in (recipe.steps[place].operator for node in nodes if node.id in done for place in node.operators):
        if isinstance(operator, TableUpsert):
            raise ChangedError(
                f"the input has grown, and the samples for the table {operator.table} are others now; remove its rows "
                f"of this run, and {START_OVER}"
            )


def record_growth(recipe: Recipe, ledger: Ledger, grown: Input) -> None:
    """Add blocks to the plan for the rows that were appended to the input.

    Raises:
        ValidationError: New samples are not valid.
        ChangedError: See `refuse_rows_in_tables`.
    """
    plan, opened = plan_of(ledger), OpenSource(Source((grown.path,)))
    refuse_private_columns([grown], opened.dataset.column_names)
    if recipe.validators:
        from jinx_pipeline.sample.validators import validate

        validate(opened.dataset[plan.rows :], recipe.validators, recipe.roles, start=plan.rows)
    # Discard what was found by comparing the keys of the old rows, because it does not hold for all rows; and what was
    # gathered from several streams, because the new rows are not at its end. Keep decisions, to compare them with the
    # new ones.
    graph = plan.graph
    gathered = graph.depending_on(node.id for node in graph.of_kind("gather"))
    refuse_rows_in_tables(recipe, ledger, gathered)
    if stale := [node.id for node in (*graph.of_kind("merge"), *graph.of_kind("look"), *gathered)]:
        ledger.discard(stale)
    ledger.record(
        Grown(
            [grown.identity],
            [grown.path],
            grown.rows,
            cut(grown.rows - plan.rows, plan.rows_per_block),
            _publish_facts(ledger.directory, opened),
            with_inputs(plan.meta, [grown]),
        )
    )


def _publish_facts(directory: RunDirectory, source: OpenSource, *, syncs_folder: bool = True) -> str | None:
    """Write the combined facts of all footers, so that workers need not open every shard; returns the file name."""
    facts = None if source.base is None else source.base._facts()
    if facts is None:
        return None
    name = f"facts-{sha256(facts.encode()).hexdigest()[:16]}.json"
    publish_text(directory.decisions / name, facts, syncs_folder=syncs_folder)
    return name


def publications_of(recipe: Recipe, ledger: Ledger) -> Publications:
    """The outputs of a run; each consists of the parts of one node in its plan."""
    plan = plan_of(ledger)

    def publication(number: int, export: Export) -> Publication:
        base = tuple(plan.paths) if plan.graph.outputs()[number].has_base else ()
        writer = writer_options(recipe, export, plan.meta)
        return Publication(export, ledger, writer, base, plan.graph, plan.rows, number)

    return Publications([publication(number, export) for number, export in enumerate(recipe.exports)])


def sweep_other_runs(work_dir: WorkDir) -> None:
    """Remove abandoned runs, and their leftover files next to the output."""
    for directory in work_dir.other_runs():
        plan = _abandoned_plan(directory)
        # For leftovers, the kind of output does not matter.
        for output in plan.get("outputs") or []:
            if not is_remote(str(output)):
                remove_hidden(Export(str(output)), directory.run)
        directory.remove()


def _abandoned_plan(directory: RunDirectory) -> dict[str, Any]:
    """The plan of a run of any version; empty if the run had not begun, or is partly removed."""
    try:
        return cast("dict[str, Any]", json.loads(next(directory.log.lines(), b""))["plan"])
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def versions() -> dict[str, str]:
    """The versions of the packages whose code makes the rows of an output."""
    return {"jinx-data": jinx.__version__, "jinx-pipeline": _kernels.__version__}
