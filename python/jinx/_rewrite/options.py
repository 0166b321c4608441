"""The options of calls that write datasets again, each defined once."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict, get_args, get_origin

from jinx._arguments import require_type
from jinx._convert.formats import FormatName, OutputFormatName
from jinx._convert.options import Option, types_and_options
from jinx._suggest import hint


class OutputOptions(TypedDict, total=False):
    """Keywords that all of these calls have."""

    where: Annotated[
        str | None,
        Option(
            "Only the samples that an expression selects, such as 'score > 0.5'.",
            metavar="EXPRESSION",
            more="See `Dataset.filter`.",
        ),
    ]
    view: Annotated[
        bool, Option("Save a view, and copy no sample.", default=False, more="All inputs must be read in place.")
    ]
    shard_size: Annotated[
        int | str | None, Option("Close the shards of a directory at about SIZE.", metavar="SIZE", more="1 GB if None.")
    ]
    overwrite: Annotated[bool, Option("Replace an output that exists.", default=False)]


class RewriteOptions(OutputOptions, total=False):
    """Keywords of `concat`, `select`, `split`, `dedup` and `compact`."""

    input_format: Annotated[FormatName | None, Option("The format of the inputs, if the suffixes do not say.")]
    output_format: Annotated[OutputFormatName | None, Option("The format of the output, if the suffix does not say.")]
    compression: Annotated[
        str | None, Option("The codec of the output; see jinx convert.", metavar="CODEC", more="None is its default.")
    ]


class OrderOptions(OutputOptions, total=False):
    """Keywords of `shuffle` and `sort`."""

    memory: Annotated[
        int | str | None,
        Option(
            "Memory to use, such as 4GB; a quarter of all if not given. It does not bound a view, which takes some 40 "
            "bytes a sample.",
            metavar="SIZE",
            more="At least 1 kB. All is that of the machine or of its container. Data that do not fit are written "
            "twice: to temporary files next to the output, then in their order.",
        ),
    ]


def require_known(given: Mapping[str, Any], keywords: type[Any]) -> None:
    """Refuse a keyword that a function does not have, and a value of another type.

    Raises:
        TypeError: The keyword is unknown (the message names the nearest one), or its value has another type.
    """
    options_by_name = types_and_options(keywords)
    for name, value in given.items():
        if name not in options_by_name:
            raise TypeError(f"there is no option {name!r}{hint(name, options_by_name)}")
        kind, _ = options_by_name[name]
        if not any(get_origin(member) is Literal for member in get_args(kind)):  # format names are checked elsewhere
            require_type(name, value, kind)
