"""Write the pages of docs/reference that come from the code: the commands and the options of `jinx.convert`.

Usage: python tools/reference_pages.py
"""

import inspect
import re
from pathlib import Path

import click

from jinx._cli.program import COMMANDS, jinx
from jinx._convert.options import types_and_options

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
PAGE = REFERENCE / "cli.md"
OPTIONS = REFERENCE / "convert-options.md"
HEAD = """# Command line

<!-- Made by tools/reference_pages.py from the commands' own help; a test compares them. -->

`jinx COMMAND --help` prints the text below. `python -m jinx` is the same program.

A dataset may be a file, a directory or a quoted pattern; `head` and `cat` take every format that `convert` reads.

Exit codes: 0 done, 1 a problem with the data, 2 a problem with the command, 130 interrupted. Errors are one line on
standard error. Ctrl-C and SIGTERM end a command: JINX removes what it was writing, and keeps an output that was there
before. A closed pipe (`jinx cat x.jinx | head`) ends the program silently.
"""


def options() -> str:
    """The text of the page of `jinx.convert`'s options."""
    lines = [
        "# Options of convert",
        "",
        "<!-- Made by tools/reference_pages.py from jinx/_convert/options.py; a test compares them. -->",
        "",
        "Keywords of [`jinx.convert`][], in the order of `jinx convert --help`.",
        "",
        "| keyword | default | meaning |",
        "|---|---|---|",
    ]
    for name, (_, option) in types_and_options().items():
        text = f"{option.help} {option.more}".strip().replace("|", "\\|")
        lines.append(f"| `{name}` | `{option.default!r}` | {text} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The text of the page."""
    context = click.Context(jinx, info_name="jinx", **jinx.context_settings)
    table = [f"| [`jinx {name}`](#jinx-{name}) | {text.rstrip('.')} |" for name, (_, text) in COMMANDS.items()]
    parts = [HEAD, "\n".join(["| command | does |", "|---|---|", *table, "", *_options(jinx, context), ""])]
    for name in COMMANDS:
        command = jinx.get_command(context, name)
        if command is None:
            raise LookupError(name)
        parts += _sections(command, click.Context(command, info_name=name, parent=context), "##")
    return "\n".join(parts)


def _sections(command: click.Command, context: click.Context, mark: str) -> list[str]:
    """The text of a command, and those of the commands that it has."""
    found = [_section(command, context, mark)]
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            found += _sections(one, click.Context(one, info_name=name, parent=context), f"{mark}#")
    return found


def _section(command: click.Command, context: click.Context, mark: str) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f"{mark} {context.command_path}", "", "```text", usage, "```", "", inspect.cleandoc(command.help or "")]
    options = _options(command, context)
    lines += ["", *options] if options else []
    examples = (command.epilog or "").partition("Examples:\n")[2]
    if examples:
        lines += ["", "```text", *(line.strip() for line in examples.splitlines()), "```"]
    return "\n".join(lines) + "\n"


def _options(command: click.Command, context: click.Context) -> list[str]:
    """A table of the options."""
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    records = [record for one in options if (record := one.get_help_record(context))]
    if isinstance(command, click.Group) and command is not jinx:
        return []
    return ["| option | meaning |", "|---|---|", *(f"| `{_name(name)}` | {_meaning(text)} |" for name, text in records)]


def _name(text: str) -> str:
    """`--missing [fail|skip]` as `--missing {fail,skip}`: a bar ends a table's cell."""
    return re.sub(r"\[(.*)\]", lambda found: f"{{{found[1]}}}".replace("|", ","), text)


def _meaning(text: str) -> str:
    """The help text with defaults in parentheses."""
    return " ".join(re.sub(r"\[(.*?)\]", r"(\1)", text).split())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    OPTIONS.write_text(options(), "utf-8")
