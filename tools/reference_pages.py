"""Write the pages of docs/reference that come from the code: commands, options of `jinx.convert`, operators, recipes.

Usage: python tools/reference_pages.py
"""

import inspect
import re
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_type_hints

import click

from jinx._cli.program import COMMANDS, jinx
from jinx._convert.options import types_and_options
from jinx_pipeline.catalog.facts import described
from jinx_pipeline.operators import names, operator_class
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.api.parameters import describe
from jinx_pipeline.operators.table.table_upsert import TableUpsert
from jinx_pipeline.recipe.model import Export, Options, SourceSpec, TableQuery
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.sample.validators import VALIDATORS

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
PAGE = REFERENCE / "cli.md"
OPTIONS = REFERENCE / "convert-options.md"
OPERATORS = REFERENCE / "operators.md"
RECIPE = REFERENCE / "recipe.md"
HEAD = """# Command line

<!-- Made by tools/reference_pages.py from the commands' own help; a test compares them. -->

`jinx COMMAND --help` prints the text below. `python -m jinx` is the same program.

A dataset may be a file, a directory or a quoted pattern; `head` and `cat` take every format that `convert` reads.

Exit codes: 0 done, 1 a problem with the data, 2 a problem with the command, 130 interrupted. Errors are one line on
standard error. Ctrl-C and SIGTERM end a command: JINX removes what it was writing, and keeps an output that was there
before. A closed pipe (`jinx cat x.jinx | head`) ends the program silently.
"""

RECIPE_HEAD = """# Recipes

<!-- Made by tools/reference_pages.py from the classes that recipes are read into; a test compares them. -->

A recipe is a YAML file for `jinx-pipeline run`. It has `dataset`, `validators`, `models`, `process`, `export`, and
options of the run, all at the top level; only `dataset` is needed. Unknown keys are errors. In place of `process` and
`export` it may have [`nodes` and `flows`](#nodes-and-flows).

```text
dataset:
  sources:
    - {path: web.jinx, weight: 3, max_samples: 100000}
    - {path: books.jinx, weight: 1}
  text: messages[*].content
validators:
  - required_columns: {columns: {messages: list, id: str}}
process:
  - text_length_filter: {min_len: 70}
  - clean_links_mapper
export: {path: good.jinx, kind: view}
workers: 4
seed: 1
```

Paths are relative to the working directory, not to the recipe. A number that begins with a zero, such as `seed: 010`,
is octal in YAML 1.1. Code runs only from files that the recipe names: `custom_operators`, and operators such as
`python_file_mapper`. Reading a recipe, `jp.read_recipe`, runs none of it and opens no file that the recipe names; a run
does both, before anything else. `jinx-pipeline plan` opens the files, but runs that code only with `--run-code`:
without it, operators of `custom_operators` are listed unchecked.
"""

GRAPH = """
## nodes and flows

The [form of a recipe with branches](../how-to/graphs.md). `dataset` then holds only the columns of texts and media.

| key of a node | type | meaning |
|---|---|---|
| `source` | path or mapping | A source, as in [sources](#sources); or `{sources: [...]}`, a mixture. |
| `operators` | list | Operators, as in [process](#process). |
| `join` | mapping | The parameters of the operator `join` without `path`; its inputs are `left` and `right`. |
| `sink` | path or mapping | An output, as in [export](#export); or a [table](#tables). |
| `include` | path | Another recipe, relative to this file. |
| `with` | mapping | Values for the parameters of the included recipe. |
| `after` | name or list | Outputs of nodes whose rows must be complete first. |
| `when` | mapping | `{rows: OUTPUT, at_least: N}` or `at_most`; `{parameter: NAME}`, with `is: VALUE` or `in: [...]`. |

A node has one of the first five keys. An output is the name of a node, or a name, a dot and one of `out`, `kept`,
`dropped`, `failed`, `clips`, or an output of an included recipe.

| key of a flow | type | meaning |
|---|---|---|
| `from` | output or list | Where rows come from. |
| `to` | node, input or list | Where they go. |
| `weight` | float | The share in a mixture of all flows to the node; 1 if only others have a weight. |

| other key | type | meaning |
|---|---|---|
| `parameters` | mapping | For each name a default, or `{type: ..., default: ...}`; `${name}` stands for the value. |
| `inputs`, `outputs` | mapping | Of an included recipe: its inputs and outputs by name. |
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


def operators() -> str:
    """The text of the page of the pipeline's operators."""
    known = [name for name in names() if operator_class(name).__module__.startswith("jinx_pipeline.operators.")]
    facts = [described(name) for name in known]
    lines = [
        "# Operators",
        "",
        "<!-- Made by tools/reference_pages.py from the operators' classes; a test compares them. -->",
        "",
        f"The {len(facts)} operators of `jinx-pipeline`, for recipes and for `jinx_pipeline.create`. The name may lack",
        "its last word where only one operator is called so: `text_length` is `text_length_filter`.",
        "`jinx-pipeline ops NAME` prints what is below.",
        "",
        "| operator | modality | does |",
        "|---|---|---|",
        *(
            f"| [`{operator['name']}`](#{operator['name']}) | {operator['modality']} "
            f"| {operator['summary'].rstrip('.')} |"
            for operator in facts
        ),
    ]
    return "\n".join([*lines, *(line for operator in facts for line in _operator(operator))]) + "\n"


def _operator(facts: dict[str, Any]) -> list[str]:
    text = facts["text"].partition("Attributes:\n")[0].strip()
    lines = ["", f"## {facts['name']}", ""]
    is_code = False
    for line in text.splitlines():
        if line and line.startswith("    ") != is_code:
            is_code = not is_code
            lines.append("```text" if is_code else "```")
        lines.append(line[4:] if is_code else line)
    lines += ["```"] if is_code else []
    if facts["stats"]:
        lines += ["", f"Statistics: {', '.join(f'`{name}`' for name in facts['stats'])}."]
    if facts["parameters"]:
        meanings = _meanings(operator_class(facts["name"]))
        lines += ["", "| parameter | type | default | meaning |", "|---|---|---|---|"]
        for parameter in facts["parameters"]:
            name = parameter["name"]
            default = "needed" if parameter["needed"] else f"`{_value(parameter['default'])}`"
            lines.append(f"| `{name}` | {_cell(parameter['type'])} | {_cell(default)} | {_cell(meanings[name])} |")
    return lines


def _meanings(cls: type) -> dict[str, str]:
    """What the docstrings of a class and its bases say of their attributes."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        section = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
        for entry in re.split(r"\n(?=    \w)", section):
            name, _, meaning = entry.strip().partition(": ")
            found[name] = " ".join(meaning.split())
    return found


def _value(default: Any) -> str:
    return "no limit" if default in (sys.maxsize, float("inf"), -float("inf")) else repr(default)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def recipe() -> str:
    """The text of the page of a recipe's keys."""
    source = (
        "A path alone is a source, too. Sources of equal weights are read whole. With other weights, as many samples\n"
        "are taken as the smallest source allows for these shares; `max_samples` counts as a size."
    )
    parts = [
        RECIPE_HEAD,
        "## dataset\n\nA path, or a mapping with `path` or `sources`, and where the texts and media are.\n",
        "| key | type | default | meaning |\n|---|---|---|---|",
        "| `path` | str | | A dataset, a saved view, or anything that [`jinx convert`](cli.md#jinx-convert) reads. |",
        "| `sources` | list | | Several of them: a mixture. |",
        *_keys(Roles),
        f"\n### sources\n\n{source}\n",
        "| key | type | default | meaning |\n|---|---|---|---|",
        *_keys(SourceSpec)[:-1],
        "\nA query is a source, too: its rows are selected once for each run, before anything else.\n",
        "| key | type | default | meaning |\n|---|---|---|---|",
        *_keys(TableQuery),
        "\n## validators\n\nA list of checks, each a name or `name: {parameter: value}`. A run reads all samples",
        "before any operator, and fails with the positions of those that do not pass. In Python they are classes:",
        "`Dataset.load(path, validators=[jp.RequiredColumns(columns=['text'])])`. Samples that are appended to the",
        "input later are checked too, and other checks are another recipe.",
        *(line for validator in VALIDATORS.values() for line in _validator(validator)),
        "\n## models\n\nA mapping from names to models, each a mapping or only a path. Operators take such a name, a",
        "path, or a mapping in place. Those that name the same model share one copy in each worker: see",
        "[models](../how-to/models.md).\n",
        "| key | type | default | meaning |\n|---|---|---|---|",
        *_keys(Model)[:-1],
        "\n## process\n\nA list of operators, in order, each a name or `name: {parameter: value}`: see",
        "[all operators](operators.md). Without it the samples are copied. Besides its parameters, each takes:\n",
        "| key | type | default | meaning |\n|---|---|---|---|",
        "| `resources` | mapping | as it declares | `cpus`, `gpus` (a fraction shares one), `memory` of its workers. |",
        "| `batch_rows` | int | as it declares | Samples that it sees at once. |",
        "\n## export\n\nA path, or a mapping. `--out` names another one.\n",
        "| key | type | default | meaning |\n|---|---|---|---|",
        *_keys(Export),
        GRAPH,
        "\n### tables\n\nA sink that upserts a row for each sample into a table of a database.\n",
        "| key | type | default | meaning |\n|---|---|---|---|",
        *_keys(TableUpsert),
        "\n## Options\n\nAt the top level. In Python these are keywords of `Dataset.export`.\n",
        "| key | type | default | meaning |\n|---|---|---|---|",
        *_keys(Options),
    ]
    return "\n".join(parts) + "\n"


def _validator(cls: type[Any]) -> list[str]:
    summary = inspect.cleandoc(cls.__doc__ or "").partition("\n")[0]
    lines = [f"\n### {cls.name}\n", summary]
    keys = _keys(cls)
    return [*lines, "\n| parameter | type | default | meaning |\n|---|---|---|---|", *keys] if keys else lines


def _keys(cls: type[Any]) -> list[str]:
    """A line of a table for each field of a dataclass."""
    meanings, hints = _meanings(cls), get_type_hints(cls)
    lines: list[str] = []
    for field in fields(cls):
        value = field.default_factory() if field.default_factory is not MISSING else field.default
        default = "needed" if value is MISSING else f"`{_value(value)}`"
        cells = [describe(hints[field.name]), default, meanings[field.name]]
        lines.append(f"| `{field.name}` | {' | '.join(map(_cell, cells))} |")
    return lines


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
        for name, subcommand in command.commands.items():
            found += _sections(subcommand, click.Context(subcommand, info_name=name, parent=context), f"{mark}#")
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
    options = [parameter for parameter in command.get_params(context) if isinstance(parameter, click.Option)]
    records = [record for option in options if (record := option.get_help_record(context))]
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
    OPERATORS.write_text(operators(), "utf-8")
    RECIPE.write_text(recipe(), "utf-8")
