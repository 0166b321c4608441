"""The command `jinx-pipeline ops`: lists and describes operators."""

import sys
from typing import Any

import click

from jinx_pipeline.catalog.facts import described
from jinx_pipeline.cli.running import examples, print_json


@click.command(epilog=examples("jinx-pipeline ops", "jinx-pipeline ops text_length_filter"))
@click.argument("words", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def ops(words: tuple[str, ...], *, as_json: bool) -> None:
    """List operators, find operators by WORDS, or describe the operator with this name."""
    from jinx._suggest import hint
    from jinx_pipeline.operators.api.registry import full_name, names

    known = names()
    if len(words) == 1 and (name := full_name(words[0])) in known:
        facts = described(name)
        if as_json:
            print_json(facts)
        else:
            _print_operator(facts)
        return
    matching = [facts for facts in map(described, known) if _is_about(facts, words)]
    if as_json:
        print_json(matching)
        return
    if not matching:
        near = hint(words[0], known) if len(words) == 1 else ""
        raise click.UsageError(f"no operator is about {' '.join(words)!r}{near or '; jinx-pipeline ops lists all'}")
    width = max(len(facts["name"]) for facts in matching)
    for facts in matching:
        click.echo(f"{facts['name']:{width}}  {facts['kind']:12}  {facts['modality']:10}  {facts['summary']}")


def _is_about(facts: dict[str, Any], words: tuple[str, ...]) -> bool:
    text = f"{facts['name']} {facts['kind']} {facts['modality']} {facts['text']}".lower()
    return all(word.lower() in text for word in words)


def _shown(default: Any) -> str:
    """A readable default; the extreme integers mean no limit."""
    is_number = isinstance(default, int | float) and not isinstance(default, bool)
    return "no limit" if is_number and abs(default) >= sys.maxsize else repr(default)


def _print_operator(facts: dict[str, Any]) -> None:
    click.echo(f"{facts['name']} ({facts['kind']}, {facts['modality']})\n\n{facts['text']}\n")
    for parameter in facts["parameters"]:
        default = "needed" if parameter["needed"] else f"default {_shown(parameter['default'])}"
        click.echo(f"  {parameter['name']}: {parameter['type']}, {default}")
    if facts["stats"]:
        click.echo(f"\nStatistics: {', '.join(facts['stats'])}")
