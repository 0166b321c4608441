"""`jinx shuffle` and `jinx sort`: write a dataset in another order."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from jinx._cli.options_from_keywords import keyword_options
from jinx._cli.parameters import AT_LEAST_ONE, PATH, SEED, examples, names, print_json
from jinx._rewrite.options import OrderOptions

if TYPE_CHECKING:
    from jinx._results import OrderResult

_shared = keyword_options(OrderOptions)


@click.command(
    epilog=examples("jinx shuffle train.jinx shuffled.jinx --seed 7", "jinx shuffle shards/ shuffled/ --memory 8GB")
)
@click.argument("source", type=PATH, metavar="IN")
@click.argument("out", type=PATH, metavar="OUT")
@click.option("--seed", type=SEED, help="Of the order; a random one if not given.")
@_shared
def shuffle(source: str, out: str, **options: Any) -> None:
    """Write the samples of IN to OUT in shuffled order, so that reading OUT from its start is a global shuffle.

    Samples are copied as they are stored. The order depends only on the seed and the number of samples. OUT appears
    when it is complete. If the data are larger than --memory, temporary files next to OUT need as much space as the
    data.
    """
    from jinx._order.shuffle import shuffle as run

    _run(run, source, out, options)


@click.command(
    epilog=examples(
        "jinx sort train.jinx sorted.jinx --by source,-score",
        "jinx sort in.jinx out.jinx --by 'len(messages)' --descending",
    )
)
@click.argument("source", type=PATH, metavar="IN")
@click.argument("out", type=PATH, metavar="OUT")
@click.option(
    "--by", multiple=True, metavar="KEYS", help="Columns, dotted paths, len(PATH); a - before a key: descending."
)
@click.option("--code", metavar="FILE.py:FUNCTION", help="A function of a sample that returns its key.")
@click.option("--descending", is_flag=True, help="Reverse the order.")
@click.option("--natural", is_flag=True, help="Numbers within strings count as numbers: img9, then img10.")
@click.option(
    "--missing",
    type=click.Choice(["last", "drop", "fail"]),
    default="last",
    show_default=True,
    help="What happens to samples without a key.",
)
@click.option("--workers", type=AT_LEAST_ONE, help="Processes for --code.  [default: one for each core]")
@_shared
def sort(source: str, out: str, by: tuple[str, ...], **options: Any) -> None:
    """Write the samples of IN to OUT, sorted by one or more keys.

    Samples are copied as they are stored; samples with equal keys keep their order. OUT appears when it is complete. If
    the data are larger than --memory, temporary files next to OUT need as much space as the data.
    """
    keys = names(by)
    if keys is not None and options["code"] is not None:
        raise click.UsageError("--by and --code exclude each other")
    if keys is None and options["code"] is None:
        raise click.UsageError("what to sort by? For instance: --by score, or --code FILE.py:FUNCTION")
    from jinx._order.sort import sort as run

    _run(run, source, out, {**options, "by": keys})


def _run(function: Callable[..., "OrderResult"], source: str, out: str, options: dict[str, Any]) -> None:
    from jinx._cli.progress import ProgressBar

    as_json, progress = options.pop("as_json"), options.pop("progress")
    with ProgressBar("samples", "none" if as_json else progress) as bar:
        done = function(source, out, progress=bar, **options)
    if as_json:
        print_json(done.to_dict())
    else:
        click.echo(_report(done), err=True)


def _report(done: "OrderResult") -> str:
    from jinx._cli.progress import natural_seconds
    from jinx._sizes import natural_size

    parts = [f"{done.samples:,} {'sample' if done.samples == 1 else 'samples'}", natural_size(done.bytes)]
    if done.shards > 1:
        parts.append(f"{done.shards} shards")
    parts.append("a view" if done.plan == "view" else f"in {done.plan}")
    if done.seed is not None:
        parts.append(f"seed {done.seed}")
    if done.missing:
        parts.append(f"{done.missing:,} without a key")
    parts.append(natural_seconds(done.seconds))
    return f"{done.path}: {', '.join(parts)}"
