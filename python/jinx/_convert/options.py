"""The options of a conversion, each defined once.

The keywords of `jinx.convert` with their types, its signature and documentation, the options of `jinx convert`, and the
options of the core all follow from `ConvertOptions`.
"""

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import wrap
from typing import Annotated, Any, Literal, TypedDict, TypeVar, get_type_hints

from jinx._arguments import encodable
from jinx._convert.formats import FormatName, OutputFormatName, output_format
from jinx._files.merge import parse_part
from jinx._sizes import parse_size, shard_bytes
from jinx._suggest import hint
from jinx._writer import checked_meta

Path = str | os.PathLike[str]
Progress = Callable[[int, int, int | None], None]
Names = str | Iterable[str]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Option:
    """What an option does, and how it appears on the command line.

    Attributes:
        help: One sentence, for `--help` and the documentation.
        default: Its value if it is not given.
        metavar: The placeholder of its value in `--help`.
        more: Text that only the documentation shows.
        in_shell: Whether the command line has it.
    """

    help: str
    default: Any = None
    metavar: str | None = None
    more: str = ""
    in_shell: bool = True


class ConvertOptions(TypedDict, total=False):
    """The keywords of `jinx.convert`."""

    input_format: Annotated[FormatName | None, Option("The input's format, if the suffix does not say.")]
    output_format: Annotated[
        OutputFormatName | None,
        Option(
            "The output's format, if the suffix does not say.",
            more='With `"parquet"`, a name without a suffix is a directory of files named as the Hub expects them '
            "(`train-00000-of-00004.parquet`).",
        ),
    ]
    columns: Annotated[Names | None, Option("Only these columns.", metavar="A,B")]
    drop: Annotated[Names | None, Option("All columns but these.", metavar="A,B")]
    rename: Annotated[
        Mapping[str, str] | None, Option("Rename columns; the two options above take the old names.", metavar="OLD=NEW")
    ]
    where: Annotated[
        str | None,
        Option(
            "Only the samples that an expression selects, such as \"score > 0.5 and source == 'web'\".",
            metavar="EXPRESSION",
            more="It takes the old names of columns; see `Dataset.filter`.",
        ),
    ]
    limit: Annotated[int | None, Option("Only the first N samples (that are selected).", metavar="N")]
    sidecar: Annotated[bool, Option("Write large binary values to a second file (JINX).", default=True)]
    compression: Annotated[
        str | None,
        Option(
            "The codec: zstd, gz, snappy or none; with a level: zstd:9.",
            default="auto",
            metavar="CODEC",
            more='`"auto"` is zstd for JINX, snappy for Parquet, and for the others what the suffix says. None is no '
            'compression. MDS also takes `"sample::zstd"`, which compresses every sample by itself.',
        ),
    ]
    indexed: Annotated[
        Names | None,
        Option("More columns and paths to index for sorting and filtering (JINX).", metavar="A,B"),
    ]
    embed: Annotated[
        Names | None,
        Option("Read in the files whose paths these columns hold.", metavar="A,B", more="Paths may lead into lists."),
    ]
    root: Annotated[
        Path | None,
        Option(
            "The directory that the paths of files to embed are relative to.",
            metavar="DIR",
            more="By default that of the first input. A path that leads out of it is an error.",
        ),
    ]
    missing: Annotated[
        Literal["fail", "skip", "null"],
        Option("What to do when a file to embed is missing: fail, skip the sample, or write null.", default="fail"),
    ]
    media_dir: Annotated[
        Path | None,
        Option("Write binary values to files in DIR, and their paths in their place (not JINX).", metavar="DIR"),
    ]
    drop_nulls: Annotated[bool, Option("Leave out members of nested dicts that are null.", default=False)]
    markers: Annotated[
        bool,
        Option(
            'Read markers such as {"$bytes": ...} also in samples that do not begin with "$jinx": 1.',
            default=False,
            more="JSON lines, MessagePack and tars that versions before 0.1.0 exported need it.",
        ),
    ]
    mixed: Annotated[
        Literal["error", "json"],
        Option(
            "A column whose values have no common type: an error, or JSON strings (Parquet, Arrow).", default="error"
        ),
    ]
    shard_size: Annotated[
        int | str | None, Option("Close the shards of a directory at about SIZE.", metavar="SIZE", more="1 GB if None.")
    ]
    split: Annotated[
        str | None, Option("Name of the split; of an input with several, the one to convert.", metavar="NAME")
    ]
    meta: Annotated[
        Mapping[str, Any] | None, Option("Anything JSON can hold, kept in the footer (JINX).", in_shell=False)
    ]
    part: Annotated[
        tuple[int, int] | None,
        Option(
            "Write part I of N of the directory OUT, counted from 0; merge them with jinx merge.",
            metavar="I/N",
            more="`(0, 8)` is the first of eight. Each part takes its share of the input files.",
        ),
    ]
    overwrite: Annotated[bool, Option("Replace an output that exists.", default=False)]
    append: Annotated[bool, Option("Add shards to a directory that exists.", default=False)]
    resume: Annotated[
        bool,
        Option(
            "Resume an interrupted conversion into a directory.",
            default=False,
            more="Inputs and options must be the same.",
        ),
    ]
    on_error: Annotated[
        Literal["fail", "skip"],
        Option(
            "Fail on a sample that cannot be read or written, or leave it out.",
            default="fail",
            more="Not for an iterable of dicts.",
        ),
    ]
    rejects: Annotated[
        Path | None,
        Option(
            "List the samples that were left out in this file, as JSON lines.",
            metavar="FILE",
            more="`OUT.rejected.jsonl` if None.",
        ),
    ]
    threads: Annotated[
        int,
        Option(
            "Number of threads; 0 for one per core.", default=0, metavar="N", more="The bytes written stay the same."
        ),
    ]


# The line of a docstring that is replaced at run time by the list of options.
_PLACE = "**options: Any of the options below."
_WIDTH = 112


@cache
def types_and_options(keywords: type[Any] = ConvertOptions) -> dict[str, tuple[Any, Option]]:
    """The type and description of each keyword."""
    hints = get_type_hints(keywords, include_extras=True)
    return {name: (hinted.__origin__, hinted.__metadata__[0]) for name, hinted in hints.items()}


def documented(keywords: type[Any]) -> Callable[[F], F]:
    """Give a function that accepts these keywords their signature and documentation."""
    options_by_name = types_and_options(keywords)

    def give(function: F) -> F:
        own = [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        keyword_parameters = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=kind)
            for name, (kind, option) in options_by_name.items()
        ]
        function.__dict__["__signature__"] = inspect.signature(function).replace(parameters=[*own, *keyword_parameters])
        texts = [f"{name}: {option.help} {option.more}".strip() for name, (_, option) in options_by_name.items()]
        lines = [line for text in texts for line in wrap(text, _WIDTH, subsequent_indent="    ")]
        function.__doc__ = (function.__doc__ or "").replace(_PLACE, "\n        ".join(lines))
        return function

    return give


# Options that the core takes unchanged.
_AS_GIVEN = (
    *("where", "sidecar", "limit", "columns", "drop", "indexed", "overwrite", "append", "split", "drop_nulls"),
    *("mixed", "markers", "resume", "threads"),
)


class Settings:
    """The options of one conversion, complete and checked.

    Args:
        out: The output.
        given: The options from the caller; other options have their defaults.

    Raises:
        TypeError: An option is unknown; the message names the nearest one.
        ValueError: An option has an invalid value.
    """

    def __init__(self, out: str, given: Mapping[str, Any]) -> None:
        options_by_name = types_and_options()
        for name in given:
            if name not in options_by_name:
                raise TypeError(f"convert() has no option {name!r}{hint(name, options_by_name)}")
        options = {name: given.get(name, option.default) for name, (_, option) in options_by_name.items()}
        for name in ("limit", "threads"):
            if options[name] is not None and not 0 <= options[name] <= sys.maxsize:
                raise ValueError(f"{name}={options[name]} is out of range; give a number from 0 to {sys.maxsize}")
        for name in ("columns", "drop", "indexed", "embed"):
            options[name] = _names(options[name])
        self.out = out
        self.target: str = options["output_format"] or output_format(out)
        self.input_format: str | None = options["input_format"]
        self.embed: list[str] | None = options["embed"]
        self.root: str | None = None if options["root"] is None else os.fspath(options["root"])
        self.missing: str = options["missing"]
        self.part = None if options["part"] is None else parse_part(options["part"])
        codec, level = _codec(options["compression"], self.target)
        rejects: Path | None = options["rejects"]
        if options["on_error"] == "fail":
            rejects = None
        self.names_rejects = options["on_error"] != "fail" and rejects is None
        if self.names_rejects:
            rejects = f"{out.rstrip('/')}.rejected.jsonl" if out != "-" else os.devnull
        self.core: dict[str, Any] = {name: options[name] for name in _AS_GIVEN} | {
            "compression": codec,
            "level": level,
            "rename": None if options["rename"] is None else dict(options["rename"]),
            "media_dir": None if options["media_dir"] is None else os.path.abspath(options["media_dir"]),  # noqa: PTH100
            "meta": None if options["meta"] is None else checked_meta(options["meta"]),
            "rejects": None if rejects is None else os.path.abspath(rejects),  # noqa: PTH100 - str in, str out
            "shard_size": self._shard_size(options["shard_size"]),
        }

    def _shard_size(self, size: int | str | None) -> int | None:
        if self.target == "jinx":
            return shard_bytes(self.out, size)
        return None if size is None else parse_size(size)

    def for_core(self, **extra: Any) -> str:
        """The options in the form that the core expects: JSON without options that are None."""
        options = {name: value for name, value in {**self.core, **extra}.items() if value is not None}
        for value in options.values():
            if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
                raise ValueError(f"{value}: this name is not UTF-8, which options of a conversion are; use another one")
        return json.dumps(options)

    def rejects_of(self, output: str) -> dict[str, str]:
        """The option for the rejects of one of several outputs, so that they do not replace those of the others."""
        if not self.names_rejects:
            return {}
        return {"rejects": f"{self.core['rejects'].removesuffix('.jsonl')}-{output}.jsonl"}

    def changed(self, out: str, target: str, **core: Any) -> "Settings":
        """The options for another output, some of them with other values for the core."""
        other = object.__new__(Settings)
        other.__dict__ = {**self.__dict__, "out": out, "target": target, "core": {**self.core, **core}}
        return other


def _names(names: Names | None) -> list[str] | None:
    if names is None:
        return None
    return [encodable("the column", name) for name in ([names] if isinstance(names, str) else names)]


def _codec(compression: str | None, target: str) -> tuple[str | None, int | None]:
    """The codec (None: the output's default) and level in `"zstd:9"`; `sample::` for MDS stays part of the codec."""
    text = "none" if compression is None else compression
    prefix = "sample::" if text.startswith("sample::") else ""
    if prefix and target != "mds":
        raise ValueError(f"compression {text!r}: only MDS compresses samples one by one; leave out 'sample::'")
    name, _, level = text.removeprefix(prefix).partition(":")
    if level and not level.isdigit():
        raise ValueError(f"compression {compression!r}: the level must be a number, as in 'zstd:9'")
    return None if name == "auto" else prefix + name, int(level) if level else None
