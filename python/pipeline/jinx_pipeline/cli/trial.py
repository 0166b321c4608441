"""`jinx-pipeline run --limit`: a recipe on a few samples, with examples of what it drops."""

import click

from jinx_pipeline.cli.running import print_json, print_kept_none
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.trial import run_trial, without_places
from jinx_pipeline.worker.row_examples import around_change

_EXAMPLES = 3
_WIDTH = 80


def print_trial(recipe: Recipe, limit: int, *, examples: int | None, as_json: bool) -> int:
    """Run a recipe on a random sample of its input, and print the results; nothing is kept.

    Args:
        recipe: The recipe.
        limit: How many samples of each source.
        examples: How many examples of each operator; None: a few.
        as_json: Whether to print JSON.
    """
    examples = _EXAMPLES if examples is None else examples
    result = run_trial(recipe, limit, examples)
    if as_json:
        print_json(without_places(result))
        return 0 if result.ok else 1
    click.echo(f"{result.rows_in:,} samples chosen with seed {recipe.options.seed}; {result.rows_out:,} remain")
    for totals in result.operators:
        share = totals.rows_out / totals.rows_in if totals.rows_in else 1.0
        click.echo(f"\n{totals.operator}: {totals.rows_out:,} of {totals.rows_in:,} ({share:.1%})")
        for trace in [trace for trace in result.traces if trace["number"] == totals.place]:
            for line in _lines(trace):
                click.echo(f"  {line}")
    print_kept_none(result)
    for bad in result.bad_rows:
        click.echo(f"\nfailed: {bad.place}: {bad.operator}: {' '.join(bad.error.split())}")
    return 0 if result.ok else 1


def _lines(trace: dict[str, object]) -> list[str]:
    if trace["what"] == "changed":
        before, after = around_change(_one_line(trace["before"]), _one_line(trace["after"]), _WIDTH)
        return [f"{trace['id']} {trace['column']}: {before}", f"  -> {after}"]
    if trace["what"] == "duplicate":
        return [f"{trace['id']} repeats {trace['of']}"]
    sample = trace["sample"]
    shown = ", ".join(f"{name}={_short(value)}" for name, value in sample.items()) if isinstance(sample, dict) else ""
    stats = trace.get("stats")
    reason = ", ".join(f"{name} is {_short(value)}" for name, value in stats.items()) if isinstance(stats, dict) else ""
    return [f"dropped {trace['id']}{f' ({reason})' if reason else ''}: {shown}"]


def _one_line(value: object) -> str:
    return " ".join(str(value).split())


def _short(value: object) -> str:
    text = _one_line(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
