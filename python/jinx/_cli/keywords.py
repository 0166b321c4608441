"""The options of the command line that follow from the keywords of a Python function."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from jinx._cli.convert import click_option
from jinx._convert.options import types_and_options

C = TypeVar("C", bound=Callable[..., Any])


def keyword_options(keywords: type[Any]) -> Callable[[C], C]:
    """Give a command the options of these keywords, and those of how it reports: `--progress` and `--json`."""

    def give(command: C) -> C:
        found: Any = command
        for name, (kind, option) in reversed(types_and_options(keywords).items()):
            made = click_option(name, kind, option)
            found = click.option(
                *made.opts,
                type=made.type,
                is_flag=made.is_flag,
                default=option.default,
                metavar=made.metavar,
                help=made.help,
            )(found)
        found = click.option(
            "--progress", type=click.Choice(["auto", "plain", "none"]), default="auto", help="How to show progress."
        )(found)
        return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(found)

    return give
