"""Describes a plan, without writing anything."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any

import jinx
from jinx._sizes import counted, natural_size
from jinx_pipeline.operators.api.model import LOCAL_KINDS, Model
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.plan.blocks import SampleSize, block_size, cut
from jinx_pipeline.plan.graph import Lane, PlanGraph, PlanNode
from jinx_pipeline.plan.graph_builder import graph_of
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
from jinx_pipeline.plan.planner import refuse_impossible, refuse_missing_files
from jinx_pipeline.plan.probe import Findings, measured_bytes, pools_of
from jinx_pipeline.plan.requests import RequestEstimate, estimated_requests
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.publish.destination import refuse_below_file
from jinx_pipeline.recipe.model import Recipe, Step, TableQuery
from jinx_pipeline.recipe.resolve import resolve, without_code

_UNCHANGED = "rows as they are"


def describe(recipe: Recipe, *, run_code: bool = False) -> dict[str, Any]:
    """Describe what a recipe would do.

    Args:
        recipe: The recipe, as it was read.
        run_code: Load the files of `custom_operators`. Otherwise their operators are treated as mappers with unchecked
            parameters.

    Returns:
        `inputs`, `nodes`, `blocks` and other facts for programs, and `lines` for users.

    Raises:
        RecipeError: The recipe can never run.
    """
    from jinx_pipeline.engines.engine import opened_engine
    from jinx_pipeline.engines.local.probe import run_probe
    from jinx_pipeline.run_plan import work_dir_of

    code = [] if run_code else list(recipe.options.custom_operators)
    recipe = with_media_root(resolve(recipe) if run_code else without_code(recipe))
    for export in recipe.exports:
        refuse_below_file(export.path)
    refuse_output_within_input(recipe, work_dir_of(recipe))
    refuse_missing_files(recipe)
    inputs: list[dict[str, Any]] = []
    for source, place in zip_longest(recipe.sources, recipe.source_places):
        with named_at(place):
            inputs.append(_input(source.path) if source.query is None else _query(source.query))
    ready = [facts for facts in inputs if not facts["converted"]]
    refuse_input_as_output(recipe, [facts["path"] for facts in ready])
    source = Source(tuple(str(Path(facts["path"]).absolute()) for facts in ready)) if ready else None
    opened = OpenSource(source) if source is not None else None
    ready_columns = set(opened.dataset.column_names) if opened is not None else set[str]()
    other_columns = [
        columns_told_by(source.path) if source.query is None else set(source.query.columns)
        for source, facts in zip(recipe.sources, inputs, strict=True)
        if facts["converted"]
    ]
    columns = None if None in other_columns else sorted(ready_columns.union(*filter(None, other_columns)))
    with opened_engine(recipe.options) as engine:
        pools = pools_of(recipe)
        # An input without samples has no columns to check.
        refuse_impossible(recipe, lacks=engine.lacks, columns=columns or None)
        findings = Findings()
        if source is not None and len(ready) == len(inputs):
            findings = run_probe(recipe, source, sum(input_facts["rows"] for input_facts in ready))
        measured = measured_bytes(recipe, findings)
        fitted = engine.fitted(pools, measured)
        counts, limits = dict(fitted.counts()), fitted.memory()
    graph = graph_of(recipe, findings, limits)
    used = {node.pool for node in graph.nodes}
    rows = sum(input_facts["rows"] or 0 for input_facts in inputs)
    size = sum(input_facts["bytes"] for input_facts in inputs)
    row_bytes = size / rows if rows else 1.0
    media_bytes = 0.0
    if opened is not None and len(ready) == len(inputs):
        media_bytes = outside_media_bytes(recipe, opened, rows, row_bytes)
    requests = list(estimated_requests(recipe, opened if len(ready) == len(inputs) else None, rows))
    block = block_size(rows, SampleSize(row_bytes, media_bytes), recipe.options.block_rows)
    facts: dict[str, Any] = {
        "inputs": inputs,
        "rows": rows,
        "media_bytes": round(media_bytes * rows),
        "rows_per_block": block.rows,
        "block_size": block.reason,
        "blocks": len(cut(rows, block.rows)),
        "pools": {
            pool: {
                "workers": counts[pool],
                "resources": asdict(needs),
                "memory_limit": limits.get(pool),
                "measured_bytes": measured.get(pool),
            }
            for pool, needs in pools.items()
            if pool in used
        },
        "work_dir": str(work_dir_of(recipe)),
        "probe": {place: asdict(result) for place, result in findings.operators.items()},
        "code_not_run": code,
        "nodes": [_node(recipe, graph, node) for node in graph.nodes],
        "files": [
            {"operator": step.operator.name, **asdict(file)}
            for step in recipe.steps
            for file in step.operator.needed_files
            if file.path not in {str(model.directory or model.path) for model in step.operator.models.values()}
        ],
        "models": _models(recipe),
        "requests": [asdict(estimate) for estimate in requests],
        "model_times": _model_times(recipe, findings, rows),
    }
    facts["lines"] = _lines(recipe, facts, requests)
    return facts


def _input(path: str) -> dict[str, Any]:
    if needs_conversion(path):
        file = Path(path)
        size = file.stat().st_size if file.is_file() else 0
        if not any(wildcard in path for wildcard in "*?[") and "://" not in path and not os.path.lexists(path):
            jinx.open(path)  # raises an error that suggests the nearest name
        return {"path": path, "converted": True, "rows": None, "bytes": size}
    dataset = jinx.open(path)
    return {"path": path, "converted": False, "rows": len(dataset), "bytes": bytes_of(dataset.info())}


def _query(query: TableQuery) -> dict[str, Any]:
    return {"path": query.name, "converted": True, "rows": None, "bytes": 0, "query": query.query}


def _models(recipe: Recipe) -> list[dict[str, Any]]:
    """The models that operators use, and those in the recipe that no operator uses."""
    users: dict[Model, list[Step]] = {model: [] for model in recipe.models.values()}
    for step in recipe.steps:
        for model in step.operator.models.values():
            users.setdefault(model, []).append(step)
    return [
        {
            **model.to_data(),
            "name": model.name,
            "weights_bytes": model.stored_bytes,
            "is_there": model.kind not in LOCAL_KINDS or model.directory is not None,
            "operators": [step.operator.name for step in steps],
            "pools": sorted({step.resources.pool for step in steps}),
        }
        for model, steps in users.items()
    ]


def _model_times(recipe: Recipe, findings: Findings, rows: int) -> list[dict[str, Any]]:
    """How long the measured operators with models take for all samples, over all workers."""
    times: list[dict[str, Any]] = []
    for place, measured in sorted(findings.operators.items()):
        step = recipe.steps[place]
        if measured.rows_per_second > 0 and any(model.kind in LOCAL_KINDS for model in step.operator.models.values()):
            seconds = rows / measured.rows_per_second
            gpu_seconds = seconds * step.resources.gpus
            times.append({"operator": step.operator.name, "seconds": seconds, "gpu_seconds": gpu_seconds})
    return times


def _time_line(time: dict[str, Any]) -> str:
    from jinx._cli.progress import natural_seconds

    gpus = f", {natural_seconds(time['gpu_seconds'])} of GPUs" if time["gpu_seconds"] else ""
    return f"time       {time['operator']}: up to {natural_seconds(time['seconds'])} of workers{gpus}"


def _model_line(model: dict[str, Any]) -> str:
    place = model.get("path") or model["model"] + (f" at {model['url']}" if model.get("url") else "")
    size = f", {natural_size(model['weights_bytes'])} of weights" if model["weights_bytes"] else ""
    missing = "" if model["is_there"] else " (not on this machine; the nodes need it)"
    name = f"{model['name']}: " if model["name"] else ""
    users = ", ".join(dict.fromkeys(model["operators"])) or "no operator"
    pools = f" [{', '.join(model['pools'])}]" if model["pools"] else ""
    return f"model      {name}{place}{missing}{size}: {users}{pools}"


def _node(recipe: Recipe, graph: PlanGraph, node: PlanNode) -> dict[str, Any]:
    """The facts of a node, which has a number: its id needs the content of inputs that are not converted yet."""
    numbers = {known.id: number for number, known in enumerate(graph.nodes)}

    def name(place: int | None) -> str | None:
        return None if place is None else recipe.steps[place].operator.name

    return {
        "number": numbers[node.id],
        "kind": node.kind,
        "reads": [{"node": numbers[stream.node], "port": stream.port} for stream in node.reads],
        "after": [{"node": numbers[stream.node], "port": stream.port} for stream in node.after],
        "gathers": [{"node": numbers[stream.node], "port": stream.port} for stream in node.gathers],
        "ports": list(node.ports),
        "operators": [name(place) for place in node.operators],
        "lanes": [[name(place) for place in lane] for lane in node.lanes],
        "line": _operators_line(recipe, node),
        "makes_groups_with": name(node.group),
        "keys_of": name(node.keys_of),
        "of_joined_dataset": node.of_other,
        "pool": node.pool,
        "batch_rows": node.batch_rows or None,
    }


def _lines(recipe: Recipe, facts: dict[str, Any], requests: list[RequestEstimate]) -> list[str]:
    lines: list[str] = []
    for source in facts["inputs"]:
        state = "is converted first, once" if source["converted"] else f"{source['rows']:,} samples"
        if "query" in source:
            lines.append(f"input      {source['path']}: selected first, once: {source['query']}")
            continue
        lines.append(f"input      {source['path']}: {state}, {natural_size(source['bytes'])}")
    if facts["rows"]:
        lines.append(
            f"blocks     {facts['blocks']:,} of up to {facts['rows_per_block']:,} samples ({facts['block_size']})"
        )
    lines += [
        f"code       {path}: not run; with --run-code its operators are checked and measured"
        for path in facts["code_not_run"]
    ]
    for name, pool in facts["pools"].items():
        limit = pool["memory_limit"]
        bound = f" and up to {natural_size(limit)} of memory" if limit is not None else ""
        needs = max(pool["measured_bytes"] or 0, pool["resources"]["memory"])
        lines.append(
            f"pool       {name}: {counted(pool['workers'], 'worker')} with {Resources(**pool['resources'])}{bound}"
            f"{f'; needs {natural_size(needs)}' if needs else ''}"
        )
    for file in facts["files"]:
        missing = "" if file["is_there"] else " (not on this machine; the nodes need it)"
        lines.append(f"reads      {file['operator']}.{file['parameter']}: {file['path']}{missing}")
    lines += [_model_line(model) for model in facts["models"]]
    lines += [f"requests   {estimate.line}" for estimate in requests]
    lines += [_time_line(time) for time in facts["model_times"]]
    lines += _node_lines(facts["nodes"])
    for place, result in facts["probe"].items():
        memory = f"{natural_size(result['row_bytes'])} of memory a sample, {natural_size(result['held_bytes'])} held"
        lines.append(
            f"probe      {recipe.steps[place].operator.name}: {result['rows_per_second']:,.0f} samples/s, {memory}"
        )
    for export in recipe.exports:
        copies = (
            "copies no sample"
            if export.kind == "view"
            else f"up to {natural_size(sum(source['bytes'] for source in facts['inputs']))}"
        )
        lines.append(f"output     {export.path} ({export.kind}): {copies}")
    lines.append(f"work_dir   {facts['work_dir']}")
    return lines


def _node_lines(nodes: list[dict[str, Any]]) -> list[str]:
    """Lines for the operators in the order in which they run, and for the decisions over all rows between them."""
    lines: list[str] = []
    origins: dict[int, int] = {}  # for each node, the source or decision from which its blocks come
    steps: list[int] = []
    is_chain = all(len(node["reads"]) <= 1 and not {"dropped", "failed"}.intersection(node["ports"]) for node in nodes)
    is_chain &= len([node for node in nodes if node["kind"] == "pack"]) == 1
    looks = {node["operators"][0] for node in nodes if node["kind"] == "look"}
    for number, node in enumerate(nodes):
        origins[number] = origins[node["reads"][0]["node"]] if node["reads"] else number
        if node["of_joined_dataset"]:
            continue
        if node["kind"] == "map":
            if origins[number] not in steps:
                steps.append(origins[number])
            group = f"{node['makes_groups_with']} -> " if node["makes_groups_with"] else ""
            title, reads = (f"step {len(steps)}", "") if is_chain else (f"node {number}", f"{_reads(node, nodes)} -> ")
            lines.append(
                f"{title:<11}{reads}{group}{node['line']}  [{node['pool']}, batches of {node['batch_rows']:,}]"
            )
        elif node["kind"] == "decide":
            (name,) = node["operators"]
            place = "keys in partitions, on the workers" if name in looks else "in the driver"
            title, reads = ("", "then") if is_chain else (f"node {number}", f"{node['after'][0]['node']} ->")
            lines.append(f"{title:<11}{reads} over all rows: {name}  [{place}]")
        elif node["kind"] in {"gather", "store"}:
            what = "come together" if node["kind"] == "gather" else "become the dataset of a join"
            lines.append(f"{f'node {number}':<11}{_names(node['gathers'], nodes)} {what}, when all rows are there")
    return lines


def _operators_line(recipe: Recipe, node: PlanNode) -> str:
    """A readable list of the operators of a node; of lanes, the first and last ones, which all have, appear once."""

    def line(lane: Sequence[int]) -> str:
        return " + ".join(recipe.steps[place].operator.name for place in lane)

    if not node.lanes:
        return line(node.operators) or _UNCHANGED
    first = _first_of_all(node.lanes)
    rests = [lane[len(first) :] for lane in node.lanes]
    last = _first_of_all([rest[::-1] for rest in rests])[::-1]
    ways = " | ".join(line(rest[: len(rest) - len(last)]) or _UNCHANGED for rest in rests)
    return " + ".join(filter(None, [line(first), f"({ways})", line(last)]))


def _first_of_all(lanes: Sequence[Lane]) -> Lane:
    """The places with which all lanes begin."""
    return tuple(places[0] for places in takewhile(lambda places: len(set(places)) == 1, zip(*lanes, strict=False)))


def _reads(node: dict[str, Any], nodes: list[dict[str, Any]]) -> str:
    """A readable list of the streams that a node reads."""
    return _names(node["reads"], nodes)


def _names(streams: list[dict[str, Any]], nodes: list[dict[str, Any]]) -> str:
    sources = [
        number for number, node in enumerate(nodes) if node["kind"] == "source" and not node["of_joined_dataset"]
    ]

    def name(stream: dict[str, Any]) -> str:
        port = "" if stream["port"] == "out" else f" {stream['port']}"
        if stream["node"] not in sources:
            return f"{stream['node']}{port}"
        return "sources" if len(sources) == 1 else f"source {sources.index(stream['node'])}"

    return ", ".join(dict.fromkeys(map(name, streams)))
