"""Options that several commands have, and what they print of a run."""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any, TypeVar

import click

from jinx._sizes import counted
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.run import RunResult
from jinx_pipeline.sample.roles import ROLES

F = TypeVar("F", bound=Callable[..., Any])


def input_options(function: F) -> F:
    """Options that say what a recipe reads, instead of its `dataset`."""
    options = [
        click.option("--in", "source", type=click.Path(), help="Read this dataset, instead of what the recipe says."),
        click.option("--text", metavar="PATH", help="Where the texts are: a column, or a path: messages[*].content."),
        *(click.option(f"--{role}", metavar="PATH", help=f"Where the {role} are.") for role in ROLES[1:]),
    ]
    return _with(options, function)


def read_with_input(recipe: str, source: str | None, options: dict[str, Any]) -> Recipe:
    """Read a recipe, a file or one that comes with the package.

    Args:
        recipe: Its path or name.
        source: The dataset to read instead of its own.
        options: Paths of the roles, from `input_options`, and options of the recipe; None: as the recipe says.
    """
    from jinx_pipeline.recipe.model import SourceSpec
    from jinx_pipeline.recipe.read import read_recipe
    from jinx_pipeline.recipe.shipped import shipped_or_file

    file = shipped_or_file(recipe)
    roles = {role: path for role in ROLES if (path := options.pop(role)) is not None}
    what = read_recipe(file, **options)
    if source is not None:
        what = replace(what, sources=(SourceSpec(source),), source_places=())
    elif file.stem == recipe:
        raise click.UsageError(f"{recipe} comes without data; name an input: --in data.jinx (the recipe is {file})")
    try:
        return replace(what, roles=replace(what.roles, **roles))
    except ValueError as error:
        raise click.UsageError(f"--{' or --'.join(roles)}: {error}") from error


def run_options(function: F) -> F:
    """Options of commands that run a recipe."""
    options = [
        click.option("--workers", type=click.IntRange(1), help="Processes; one for each core if not given."),
        click.option(
            "--engine", type=click.Choice(["local", "ray"]), help="Where they run: here, or on a Ray cluster."
        ),
        click.option("--ray-address", metavar="ADDRESS", help="The cluster: auto, local or HOST:PORT."),
        click.option("--memory", metavar="SIZE", help="Memory that one worker may use, such as 4GB."),
        click.option(
            "--work-dir",
            type=click.Path(),
            help="Where finished blocks and the log are kept; OUT.work if not given.",
        ),
        click.option("--max-bad-rows", type=click.IntRange(0), help="More rows that fail make the exit code 1."),
        click.option(
            "--progress", type=click.Choice(["auto", "plain", "none"]), default="auto", help="How to show it."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    ]
    return _with(options, function)


def _with(options: list[Callable[[F], F]], function: F) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def result_of(run: Callable[[], RunResult]) -> RunResult:
    """Run; Ray prints what it hears of dying nodes to standard output, which is for the result."""
    with redirect_stdout(sys.stderr):
        return run()


def print_result(result: RunResult, *, as_json: bool) -> int:
    """Print what a run did; returns the exit code."""
    from jinx._cli.progress import natural_seconds
    from jinx._sizes import natural_size

    if as_json:
        print_json(result.to_dict())
        return 0 if result.ok else 1
    width = max([8, *(len(one.operator) for one in result.operators)])
    click.echo(
        f"{'operator':{width}} {'in':>10} {'out':>10} {'failed':>7} {'seconds':>9} {'rows/CPU s':>11} {'memory':>9}"
    )
    for one in result.operators:
        rate = f"{one.rows_in / one.cpu_seconds:,.0f}" if one.cpu_seconds > 0 else ""
        memory = natural_size(one.peak_bytes) if one.peak_bytes else ""
        click.echo(
            f"{one.operator:{width}} {one.rows_in:>10,} {one.rows_out:>10,} {one.bad_rows:>7,} {one.seconds:>9.2f} "
            f"{rate:>11} {memory:>9}"
        )
    for one in result.operators:
        if one.counts:
            click.echo(f"{one.operator}: {', '.join(f'{count:,} {name}' for name, count in one.counts.items())}")
    resumed = ", resumed" if result.resumed else ""
    click.echo(
        f"{result.path}: {result.rows_out:,} of {result.rows_in:,} samples, {natural_size(result.bytes)}, "
        f"in {natural_seconds(result.seconds)}{resumed}",
        err=True,
    )
    print_kept_none(result)
    for bad in result.bad_rows[:3]:
        click.echo(f"  {bad.place}: {bad.operator or 'worker'}: {' '.join(bad.error.split())}", err=True)
    if result.bad_rows:
        count = len(result.bad_rows)
        click.echo(
            f"{count:,} {'row is' if count == 1 else 'rows are'} not in the output because something failed on "
            f"{'it' if count == 1 else 'them'}; see {result.work_dir}/quarantine.jsonl"
            + ("" if result.ok else f"; to exit with 0 nevertheless: --max-bad-rows {count}"),
            err=True,
        )
    return 0 if result.ok else 1


def print_kept_none(result: RunResult) -> None:
    """Name the operators that left nothing of the samples which they got."""
    for one in result.operators:
        if one.rows_out == 0 and one.rows_in > one.bad_rows:
            click.echo(f"{one.operator} kept none of {counted(one.rows_in, 'sample')}; check its parameters", err=True)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    import json

    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))
