"""The options that all rewriting commands share, each stated once."""

from typing import Annotated, TypedDict

from jinx._convert.formats import FormatName
from jinx._convert.options import Option


class RewriteOptions(TypedDict, total=False):
    """Keywords of `concat`, `select`, `split`, `dedup` and `compact`."""

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
    input_format: Annotated[FormatName | None, Option("The format of the inputs, if the suffixes do not say.")]
    output_format: Annotated[FormatName | None, Option("The format of the output, if the suffix does not say.")]
    compression: Annotated[
        str | None, Option("The codec of the output; see jinx convert.", metavar="CODEC", more="None is its default.")
    ]
    shard_size: Annotated[
        int | str | None, Option("Close the shards of a directory at about SIZE.", metavar="SIZE", more="1 GB if None.")
    ]
    overwrite: Annotated[bool, Option("Replace an output that exists.", default=False)]
