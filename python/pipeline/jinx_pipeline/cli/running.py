"""Options that several commands share, and the output of a run."""

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jinx._sizes import counted
from jinx_pipeline.sample.roles import ROLES

if TYPE_CHECKING:
    from jinx_pipeline.recipe.model import Recipe
    from jinx_pipeline.run import RunResult

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


def input_options(function: F) -> F:
    """Options that replace the `dataset` of a recipe."""
    options = [
        click.option("--in", "source", type=click.Path(), help="Read this dataset instead of the recipe's."),
        click.option("--text", metavar="PATH", help="The column or path of the texts, such as messages[*].content."),
        *(click.option(f"--{role}", metavar="PATH", help=f"The column or path of the {role}.") for role in ROLES[1:]),
        click.option("--set", "given", metavar="NAME=VALUE", multiple=True, help="The value of a recipe's parameter."),
        click.option("--model", "models", metavar="NAME=PATH", multiple=True, help="The path of a recipe's model."),
    ]
    return _with(options, function)


def read_with_input(recipe: str, source: str | None, options: dict[str, Any]) -> "Recipe":
    """Read a recipe from a file or from the package.

    Args:
        recipe: The path or name of the recipe.
        source: A dataset that replaces the sources of the recipe.
        options: Paths of the roles and values of parameters, from `input_options`, and options of the recipe; None
            keeps those of the recipe.
    """
    from jinx_pipeline.recipe.model import SourceSpec
    from jinx_pipeline.recipe.read import read_recipe
    from jinx_pipeline.recipe.shipped import shipped_or_file

    file = shipped_or_file(recipe)
    roles = {role: path for role in ROLES if (path := options.pop(role)) is not None}
    parameters, models = _parameters(options.pop("given")), dict(_pairs("--model", options.pop("models")))
    loaded = read_recipe(file, parameters=parameters, models=models, **options)
    if source is not None and len(loaded.groups) > 1:
        raise click.UsageError(f"{recipe} has {len(loaded.groups)} sources; --in replaces only one")
    if source is not None:
        groups = (1,) if loaded.source_groups else ()
        loaded = replace(loaded, sources=(SourceSpec(source),), source_places=(), source_groups=groups)
    elif file != recipe and any(spec.query is None for spec in loaded.sources):
        raise click.UsageError(f"{recipe} comes without data; name an input: --in data.jinx (the recipe is {file})")
    try:
        return replace(loaded, roles=replace(loaded.roles, **roles))
    except ValueError as error:
        raise click.UsageError(f"--{' or --'.join(roles)}: {error}") from error


def _parameters(given: Sequence[str]) -> dict[str, Any]:
    """The values of parameters, which are read as in YAML."""
    from jinx_pipeline.recipe.yaml_text import parse_yaml

    pairs = _pairs("--set", given)
    return {name: parse_yaml(value).value if value.strip() else value for name, value in pairs}


def _pairs(option: str, given: Sequence[str]) -> list[tuple[str, str]]:
    """The names and values of an option."""
    for text in given:
        if "=" not in text:
            raise click.UsageError(f"{option} {text}: write NAME=VALUE")
    return [(name, value) for name, _, value in (text.partition("=") for text in given)]


def run_options(function: F) -> F:
    """Options of commands that run a recipe."""
    options = [
        click.option("--workers", type=click.IntRange(1), help="The number of processes; by default that of cores."),
        click.option(
            "--engine", type=click.Choice(["local", "ray"]), help="Where workers run: on this machine or a Ray cluster."
        ),
        click.option("--ray-address", metavar="ADDRESS", help="The cluster: auto, local or HOST:PORT."),
        click.option("--memory", metavar="SIZE", help="Memory that one worker may use, such as 4GB."),
        click.option(
            "--work-dir",
            type=click.Path(),
            help="The directory for finished blocks and the log; OUT.work if not given.",
        ),
        click.option("--max-bad-rows", type=click.IntRange(0), help="Exit with 1 if more rows than this fail."),
        click.option(
            "--progress", type=click.Choice(["auto", "plain", "none"]), default="auto", help="How to show progress."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    ]
    return _with(options, function)


def _with(options: list[Callable[[F], F]], function: F) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def examples(*lines: str) -> str:
    """The examples at the end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def result_of(run: Callable[[], R]) -> R:
    """Run with standard output redirected: Ray prints messages there, but only the result belongs there."""
    with redirect_stdout(sys.stderr):
        return run()


def print_result(result: "RunResult", *, as_json: bool) -> int:
    """Print what a run did; returns the exit code."""
    from jinx._cli.progress import natural_seconds
    from jinx._sizes import natural_size

    if as_json:
        print_json(result.to_dict())
        return 0 if result.ok else 1
    width = max([8, *(len(totals.operator) for totals in result.operators)])
    click.echo(
        f"{'operator':{width}} {'in':>10} {'out':>10} {'failed':>7} {'seconds':>9} {'rows/CPU s':>11} {'memory':>9}"
    )
    for totals in result.operators:
        rate = f"{totals.rows_in / totals.cpu_seconds:,.0f}" if totals.cpu_seconds > 0 else ""
        memory = natural_size(totals.peak_bytes) if totals.peak_bytes else ""
        click.echo(
            f"{totals.operator:{width}} {totals.rows_in:>10,} {totals.rows_out:>10,} {totals.bad_rows:>7,} "
            f"{totals.seconds:>9.2f} {rate:>11} {memory:>9}"
        )
    for totals in result.operators:
        if totals.details:
            click.echo(f"{totals.operator}: {', '.join(totals.details)}")
    resumed = ", resumed" if result.resumed else ""
    for output in result.outputs:
        click.echo(
            f"{output.path}: {output.rows:,} of {result.rows_in:,} samples, {natural_size(output.bytes)}, "
            f"in {natural_seconds(result.seconds)}{resumed}",
            err=True,
        )
    if result.rows_unreadable:
        click.echo(
            f"{counted(result.rows_unreadable, 'row')} of the input could not be read, besides "
            f"{counted(result.rows_in, 'sample')} that could",
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


def print_kept_none(result: "RunResult") -> None:
    """Name the operators that dropped all of their samples."""
    for totals in result.operators:
        if totals.rows_out == 0 and totals.rows_in > totals.bad_rows:
            click.echo(
                f"{totals.operator} kept none of {counted(totals.rows_in, 'sample')}; check its parameters", err=True
            )


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    import json

    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))
