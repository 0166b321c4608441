"""A plan in words, made without writing anything."""

import os
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

import jinx
from jinx._sizes import natural_size
from jinx_pipeline.operators.api.keyed import Partitioned
from jinx_pipeline.plan.blocks import SampleSize, block_size, cut
from jinx_pipeline.plan.inputs import (
    bytes_of,
    columns_told_by,
    named_at,
    needs_conversion,
    refuse_input_as_output,
    refuse_output_within_input,
)
from jinx_pipeline.plan.media_root import with_media_root
from jinx_pipeline.plan.outside_media import outside_media_bytes
from jinx_pipeline.plan.planner import (
    SegmentPlan,
    refuse_impossible,
    refuse_missing_files,
    segments_of,
)
from jinx_pipeline.plan.probe import Findings, declared, measured_bytes
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.publish.destination import refuse_below_file
from jinx_pipeline.recipe.model import Recipe


def describe(recipe: Recipe) -> dict[str, Any]:
    """What a recipe would do.

    Returns:
        `inputs`, `segments`, `blocks` and others for programs, and `lines` for people.

    Raises:
        RecipeError: It can never run.
    """
    from jinx_pipeline.engines.engine import opened_engine
    from jinx_pipeline.engines.local.probe import probed
    from jinx_pipeline.run import work_dir_of

    recipe = with_media_root(recipe)
    if recipe.export is not None:
        refuse_below_file(recipe.export.path)
    refuse_output_within_input(recipe, work_dir_of(recipe))
    refuse_missing_files(recipe)
    inputs: list[dict[str, Any]] = []
    for source, place in zip_longest(recipe.sources, recipe.source_places):
        with named_at(place):
            inputs.append(_input(source.path))
    ready = [one for one in inputs if not one["converted"]]
    refuse_input_as_output(recipe, [one["path"] for one in ready])
    source = Source(tuple(str(Path(one["path"]).absolute()) for one in ready)) if ready else None
    opened = OpenSource(source) if source is not None else None
    shown = set(opened.dataset.column_names) if opened is not None else set[str]()
    seen = [columns_told_by(one["path"]) for one in inputs if one["converted"]]
    columns = None if None in seen else sorted(shown.union(*filter(None, seen)))
    with opened_engine(recipe.options) as engine:
        needs = declared(recipe)
        fitted = engine.fitted(needs)
        # An input without samples has no columns, and nothing to refuse.
        refuse_impossible(recipe, gpus=fitted.counts()["gpu"], memory=fitted.memory(), columns=columns or None)
        findings = Findings()
        if source is not None and len(ready) == len(inputs):
            findings = probed(recipe, source, sum(one["rows"] for one in ready))
            fitted = engine.fitted(needs, measured_bytes(recipe, findings))
        counts, limit = dict(fitted.counts()), fitted.memory()
    segments = segments_of(recipe, findings, limit)
    rows = sum(one["rows"] or 0 for one in inputs)
    size = sum(one["bytes"] for one in inputs)
    row_bytes = size / rows if rows else 1.0
    media_bytes = 0.0
    if opened is not None and len(ready) == len(inputs):
        media_bytes = outside_media_bytes(recipe, opened, rows, row_bytes)
    block = block_size(rows, SampleSize(row_bytes, media_bytes), recipe.options.block_rows)
    facts: dict[str, Any] = {
        "inputs": inputs,
        "rows": rows,
        "media_bytes": round(media_bytes * rows),
        "rows_per_block": block.rows,
        "block_size": block.reason,
        "blocks": len(cut(rows, block.rows)),
        "workers": counts,
        "worker_memory": limit,
        "work_dir": str(work_dir_of(recipe)),
        "probe": {place: asdict(one) for place, one in findings.operators.items()},
        "worker_needs": max(measured_bytes(recipe, findings), *(one.memory for one in needs.values()), 0) or None,
        "segments": [_segment(recipe, one) for one in segments],
        "files": [
            {"operator": step.operator.name, **asdict(file)}
            for step in recipe.steps
            for file in step.operator.needed_files
        ],
    }
    facts["lines"] = _lines(recipe, facts)
    return facts


def _input(path: str) -> dict[str, Any]:
    if needs_conversion(path):
        found = Path(path)
        size = found.stat().st_size if found.is_file() else 0
        if not any(one in path for one in "*?[") and "://" not in path and not os.path.lexists(path):
            jinx.open(path)  # raises, with the nearest name
        return {"path": path, "converted": True, "rows": None, "bytes": size}
    dataset = jinx.open(path)
    return {"path": path, "converted": False, "rows": len(dataset), "bytes": bytes_of(dataset.info())}


def _segment(recipe: Recipe, segment: SegmentPlan) -> dict[str, Any]:
    def name(place: int | None) -> str | None:
        return None if place is None else recipe.steps[place].operator.name

    return {
        "makes_groups_with": name(segment.group),
        "stages": [
            {"operators": [name(place) for place in one.operators], "pool": one.pool, "batch_rows": one.batch_rows}
            for one in segment.stages
        ],
        "ends_with": name(segment.decides),
        "is_partitioned": segment.decides is not None
        and isinstance(recipe.steps[segment.decides].operator, Partitioned),
    }


def _lines(recipe: Recipe, facts: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for one in facts["inputs"]:
        what = "is converted first, once" if one["converted"] else f"{one['rows']:,} samples"
        lines.append(f"input      {one['path']}: {what}, {natural_size(one['bytes'])}")
    if facts["rows"]:
        lines.append(
            f"blocks     {facts['blocks']:,} of up to {facts['rows_per_block']:,} samples ({facts['block_size']})"
        )
    workers = ", ".join(f"{count} {pool}" for pool, count in facts["workers"].items() if count)
    memory = facts["worker_memory"]
    limit = f", each up to {natural_size(memory)} of memory" if memory is not None else ""
    needs = facts["worker_needs"]
    lines.append(f"workers    {workers}{limit}{f'; needs {natural_size(needs)}' if needs is not None else ''}")
    for one in facts["files"]:
        missing = "" if one["is_there"] else " (not on this machine; the nodes need it)"
        lines.append(f"reads      {one['operator']}.{one['parameter']}: {one['path']}{missing}")
    for number, segment in enumerate(facts["segments"], start=1):
        for stage in segment["stages"]:
            names = " + ".join(stage["operators"]) or "rows as they are"
            group = f"{segment['makes_groups_with']} -> " if segment["makes_groups_with"] else ""
            lines.append(f"segment {number}  {group}{names}  [{stage['pool']}, batches of {stage['batch_rows']:,}]")
        if segment["ends_with"]:
            where = "keys in partitions, on the workers" if segment["is_partitioned"] else "in the driver"
            lines.append(f"           then over all rows: {segment['ends_with']}  [{where}]")
    for place, one in facts["probe"].items():
        taken = f"{natural_size(one['row_bytes'])} of memory a sample, {natural_size(one['held_bytes'])} held"
        lines.append(
            f"probe      {recipe.steps[place].operator.name}: {one['rows_per_second']:,.0f} samples/s, {taken}"
        )
    if recipe.export is not None:
        copies = (
            "copies no sample"
            if recipe.export.kind == "view"
            else f"up to {natural_size(sum(one['bytes'] for one in facts['inputs']))}"
        )
        lines.append(f"output     {recipe.export.path} ({recipe.export.kind}): {copies}")
    lines.append(f"work_dir   {facts['work_dir']}")
    return lines
