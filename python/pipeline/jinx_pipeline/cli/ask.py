"""The command `jinx-pipeline ask`: a recipe for a request in plain language."""

from pathlib import Path
from typing import Any

import click

from jinx_pipeline.cli.running import examples, print_json, print_result, result_of

_OFFERED = 5
_DROPPED = 5
_WIDTH = 100


@click.command(
    epilog=examples(
        'jinx-pipeline ask "drop short texts and near duplicates" data.jinx',
        'jinx-pipeline ask "drop short texts" data.jinx --url http://localhost:8000/v1 --model NAME --out good.jinx',
    )
)
@click.argument("request")
@click.argument("data", type=click.Path())
@click.option("--out", type=click.Path(), default="asked.jinx", show_default=True, help="The output, a view.")
@click.option("--url", envvar="OPENAI_BASE_URL", help="A service like OpenAI's; by default $OPENAI_BASE_URL.")
@click.option("--model", envvar="OPENAI_MODEL", help="The name of the model; by default $OPENAI_MODEL.")
@click.option(
    "--key-variable", default="OPENAI_API_KEY", show_default=True, help="The environment variable with the key."
)
@click.option("--samples", type=click.IntRange(1), default=1000, show_default=True, help="How many samples to try.")
@click.option("--save", type=click.Path(), help="Write the recipe to this file.")
@click.option("--yes", is_flag=True, help="Run the recipe without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the recipe and the trial as JSON; run nothing.")
def ask(
    request: str,
    data: str,
    out: str,
    url: str | None,
    model: str | None,
    key_variable: str,
    samples: int,
    save: str | None,
    *,
    yes: bool,
    as_json: bool,
) -> int:
    """Make a recipe for REQUEST, try it on samples of DATA, and run it if you agree.

    The model is told the request, the names of columns and the kinds of their values, and the descriptions of operators
    that fit the request; no sample is sent. Its recipe is checked like any other. Without a model, the operators that
    fit are listed.
    """
    from jinx_pipeline.ask.chat_model import ChatModel
    from jinx_pipeline.ask.profile import profile_of
    from jinx_pipeline.ask.proposal import propose
    from jinx_pipeline.run import Run
    from jinx_pipeline.trial import run_trial, without_places

    if save is not None and Path(save).exists():
        raise FileExistsError(f"{save} exists; remove it, or choose another name")
    profile = profile_of(data)
    if url is None or model is None:
        return _offer(request, as_json=as_json)
    proposal = propose(request, data, out, profile, ChatModel(url, model, key_variable))
    result = result_of(lambda: run_trial(proposal.recipe, samples, _DROPPED))
    if save is not None:
        Path(save).write_text(proposal.text, "utf-8")
    if as_json:
        print_json({"recipe": proposal.data, "offered": proposal.offered, "trial": without_places(result)})
        return 0
    click.echo(proposal.text)
    share = result.rows_out / result.rows_in if result.rows_in else 1.0
    click.echo(f"Tried on {result.rows_in:,} samples: {result.rows_out:,} kept ({share:.0%})")
    dropped = [trace for trace in result.traces if trace["what"] != "changed"][:_DROPPED]
    for trace in dropped:
        click.echo(f"  dropped by {trace['operator']}: {_shown(trace)}")
    if not yes and not click.confirm(f"Run it, and write {out}?", default=False, err=True):
        return 0
    return print_result(result_of(Run(proposal.recipe, progress="auto")), as_json=False)


def _offer(request: str, *, as_json: bool) -> int:
    """List the operators that fit a request."""
    from jinx_pipeline.ask.proposal import offered_operators

    found = offered_operators(request)[:_OFFERED]
    if as_json:
        print_json({"offered": [operator.name for operator in found]})
        return 0
    if not found:
        raise click.UsageError(f"no operator is about {request!r}; jinx-pipeline ops lists all")
    click.echo("These operators fit. Name a model (--url and --model) for a recipe, or write one with them:", err=True)
    for operator in found:
        click.echo(f"{operator.name}: {operator.facts['summary']}")
    return 0


def _shown(trace: dict[str, Any]) -> str:
    """A dropped sample on one line, without characters that would control the terminal."""
    values = trace.get("sample") or {"id": trace.get("id"), "duplicate of": trace.get("of")}
    text = " ".join(f"{name}={value}" for name, value in values.items())
    printable = "".join(character if character.isprintable() else " " for character in text)
    return printable if len(printable) <= _WIDTH else f"{printable[:_WIDTH]}..."
