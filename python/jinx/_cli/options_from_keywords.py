"""Command-line options that are derived from a Python function's keywords."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from jinx._cli.convert import click_option
from jinx._convert.options import types_and_options

C = TypeVar("C", bound=Callable[..., Any])


def keyword_options(keywords: type[Any]) -> Callable[[C], C]:
    """Give a command an option for each keyword, and `--progress` and `--json`."""

    def give(command: C) -> C:
        decorated: Any = command
        for name, (kind, option) in reversed(types_and_options(keywords).items()):
            template = click_option(name, kind, option)
            decorated = click.option(
                *template.opts,
                type=template.type,
                is_flag=template.is_flag,
                default=option.default,
                metavar=template.metavar,
                help=template.help,
            )(decorated)
        decorated = click.option(
            "--progress", type=click.Choice(["auto", "plain", "none"]), default="auto", help="How to show progress."
        )(decorated)
        return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(decorated)

    return give
