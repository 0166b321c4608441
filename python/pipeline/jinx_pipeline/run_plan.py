"""The plan of a run: made once, kept, and compared with the recipe and the inputs of each later call."""

import json
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import numpy as np

import jinx
from jinx_pipeline.commit.journal import Journal
from jinx_pipeline.commit.place import refuse_place
from jinx_pipeline.commit.publication import remove_hidden
from jinx_pipeline.commit.work_dir import WorkDir, publish_text
from jinx_pipeline.engines.engine import Engine
from jinx_pipeline.engines.probing import probed
from jinx_pipeline.plan.differences import differences
from jinx_pipeline.plan.inputs import Input, has_grown, refuse_input_as_output
from jinx_pipeline.plan.mixture import mixture_order
from jinx_pipeline.plan.planner import Plan, cut, joined_paths, make_plan, refuse_impossible
from jinx_pipeline.plan.probe import declared, measured_bytes
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.recipe.model import Export, Recipe
from jinx_pipeline.recipe.write import as_data
from jinx_pipeline.sample.validators import validate
from jinx_pipeline.shuffle.step import publish_order

START_OVER = "start over with restart=True, overwrite=True (--restart --overwrite)"


@contextmanager
def other_remedy(remedy: str) -> Generator[None]:
    """Say another remedy than `START_OVER`, for a command that has not its options."""
    try:
        yield
    except ChangedError as error:
        raise ChangedError(str(error).replace(START_OVER, remedy)) from None


class ChangedError(ValueError):
    """The recipe, an input or the version is not that of the run to resume; the message says what changed."""


def new_plan(recipe: Recipe, export: Export, work_dir: WorkDir, inputs: list[Input], engine: Engine) -> Plan:
    """Make a plan, and keep it in place of an earlier run's; a plan that is refused changes nothing.

    Raises:
        RecipeError: The recipe asks for what cannot be.
        FileExistsError: The output exists.
        ValueError: The output is an input, or lies in one.
    """
    refuse_input_as_output(recipe, [*(one.path for one in inputs), *joined_paths(recipe)])
    refuse_place(export)
    order = (
        mixture_order(recipe.sources, [one.rows for one in inputs], recipe.options.seed)
        if recipe.only_rows is None
        else np.array(recipe.only_rows, dtype=np.int64)
    )
    rows = sum(one.rows for one in inputs) if order is None else len(order)
    source = Source(tuple(one.path for one in inputs))
    order_name = None if order is None else f"rows-{sha256(order.tobytes()).hexdigest()[:16]}.npy"
    if order is not None:
        publish_order(work_dir.globals / str(order_name), order)
        source = replace(source, order=str(work_dir.globals / str(order_name)))
    opened = OpenSource(source)
    fitted = engine.fitted(declared(recipe))
    refuse_impossible(
        recipe,
        gpus=fitted.counts()["gpu"],
        memory=fitted.memory(),
        columns=opened.dataset.column_names if rows else None,
    )
    if recipe.validators:
        validate(opened.dataset, recipe.validators, recipe.roles)
    findings = probed(recipe, source, rows)
    fitted = engine.fitted(declared(recipe), measured_bytes(recipe, findings))
    plan = replace(
        make_plan(recipe, inputs, rows, findings, fitted.memory()),
        run=secrets.token_hex(8),
        output=str(Path(export.path).absolute()),
        versions=versions(),
        order=order_name,
        facts=_publish_facts(work_dir, opened),
    )
    _forget(work_dir, keep={plan.order, plan.facts})
    publish_text(work_dir.path / "recipe.json", json.dumps(as_data(recipe), indent=1, ensure_ascii=False) + "\n")
    # With the plan, the run begins; its journal is there by then.
    Journal(work_dir.journal_path, plan.run).close()
    work_dir.write_plan(plan.to_dict())
    return plan


def known_plan(recipe: Recipe, export: Export, work_dir: WorkDir) -> Plan | None:
    """The plan of an earlier run of this recipe; None if there is none.

    Raises:
        ChangedError: It is of another recipe, output or version.
    """
    known = work_dir.read_plan()
    if known is None:
        return None
    where = work_dir.path
    try:
        plan = Plan.from_dict(known)
    except ValueError as error:
        raise ChangedError(f"{where}: {error}; {START_OVER}") from None
    refuse_other_recipe(recipe, plan, where)
    if plan.versions != versions():
        what = "; ".join(differences(plan.versions, versions()))
        raise ChangedError(f"{where} was begun by another version: {what}; resume with that one, or {START_OVER}")
    if plan.output != str(Path(export.path).absolute()):
        raise ChangedError(f"{where} belongs to the output {plan.output}; use another work_dir, or {START_OVER}")
    return plan


def refuse_other_recipe(recipe: Recipe, plan: Plan, where: Path) -> None:
    """Refuse a recipe that is not the one of a plan.

    Raises:
        ChangedError: It is another one, or a file with its operators was edited since.
    """
    if plan.digest != recipe.digest:
        what = "; ".join(differences(plan.recipe, recipe.described()))
        raise ChangedError(f"{where} belongs to another recipe: {what}; {START_OVER}, or use another work_dir")


def input_has_grown(work_dir: WorkDir, plan: Plan, inputs: list[Input]) -> bool:
    """Whether the input has more rows at its end than the plan knows.

    Raises:
        ChangedError: It has changed in another way, or the recipe looks at all rows.
    """
    where = work_dir.path
    if len(plan.inputs) == len(inputs) and all(a == b.identity for a, b in zip(plan.inputs, inputs, strict=True)):
        return False
    grown = len(inputs) == len(plan.inputs) == 1 and has_grown(plan.inputs[0], inputs[0].identity, inputs[0].source)
    if grown and len(plan.segments) == 1 and plan.order is None:
        return True
    if grown:
        raise ChangedError(f"{where}: the input has grown, and this recipe looks at all rows; {START_OVER}")
    changes = [
        f"{one.source}: {'; '.join(differences(a, one.identity)) or 'changed'}"
        for a, one in zip(plan.inputs, inputs, strict=False)
        if a != one.identity
    ]
    raise ChangedError(f"{where}: the input changed: {' / '.join(changes)}; {START_OVER}")


def grown_plan(work_dir: WorkDir, plan: Plan, now: Input) -> Plan:
    """More blocks after those of the plan, for the rows that the input has gained."""
    blocks = [*plan.blocks, *cut(now.rows - plan.rows, plan.rows_per_block)]
    facts = _publish_facts(work_dir, OpenSource(Source((now.path,))))
    made = replace(plan, inputs=[now.identity], paths=[now.path], rows=now.rows, blocks=blocks, facts=facts)
    work_dir.write_plan(made.to_dict())
    return made


def _publish_facts(work_dir: WorkDir, source: OpenSource) -> str | None:
    """Keep what the footers say together, so that workers need not open them all; returns the name of the file."""
    facts = None if source.base is None else source.base._facts()
    if facts is None:
        return None
    name = f"facts-{sha256(facts.encode()).hexdigest()[:16]}.json"
    publish_text(work_dir.globals / name, facts)
    return name


def versions() -> dict[str, str]:
    """The versions of the packages whose code makes the rows of an output."""
    return {"jinx-data": jinx.__version__, "jinx-pipeline": version("jinx-pipeline")}


def run_of(work_dir: WorkDir) -> str:
    """The id of the run of a working directory.

    Raises:
        ValueError: There is none, or another version wrote it.
    """
    known = work_dir.read_plan()
    if known is None:
        raise ValueError(f"{work_dir.path} holds no run: there is no plan.json")
    return Plan.from_dict(known).run


def _forget(work_dir: WorkDir, keep: set[str | None]) -> None:
    """Forget an earlier run, with what it has left next to its output; `keep` what the new one has in `globals/`."""
    known = work_dir.read_plan() or {}
    output, run, recipe = known.get("output"), known.get("run"), known.get("recipe") or {}
    if isinstance(output, str) and isinstance(run, str) and recipe.get("export"):
        remove_hidden(Export(output, recipe["export"]["kind"]), run)
    work_dir.clear(keep)
