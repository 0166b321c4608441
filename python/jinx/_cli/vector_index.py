"""`jinx vector-index`: make an index of a column of vectors."""

from typing import Any

import click

from jinx._cli.parameters import AT_LEAST_ONE, COUNT, PATH, examples


@click.command(
    epilog=examples(
        "jinx vector-index embedded.jinx --column emb",
        "jinx vector-index embedded.jinx near.ivf --column emb --metric l2 --recall 0.99",
    )
)
@click.argument("path", type=PATH, metavar="VIEW")
@click.argument("out", type=PATH, metavar="[OUT]", required=False)
@click.option("--column", required=True, metavar="NAME", help="The column of vectors.")
@click.option(
    "--metric",
    type=click.Choice(("cosine", "dot", "l2")),
    default="cosine",
    show_default=True,
    help="What searches will compare by.",
)
@click.option(
    "--recall",
    type=click.FLOAT,
    default=0.95,
    show_default=True,
    metavar="SHARE",
    help="Which share of the 10 nearest vectors a search is to find, on average.",
)
@click.option(
    "--lists", type=AT_LEAST_ONE, metavar="N", help="How many lists; by default the square root of the vectors."
)
@click.option("--seed", type=COUNT, default=0, show_default=True, metavar="N", help="The same seed, the same file.")
@click.option("--overwrite", is_flag=True, help="Replace an index that exists.")
def vector_index(path: str, out: str | None, column: str, **options: Any) -> None:
    """Make an index of the vectors of a column, for searches with ds.nearest(..., index=True).

    This is worthwhile for millions of vectors. Without OUT, the index of the column emb of view.jinx is view.emb.ivf.
    Its recall is measured with 400 vectors of the column, and printed for several numbers of lists that a search looks
    at.
    """
    import jinx

    with jinx.open(path) as dataset:
        made = dataset.make_vector_index(column, out, **options)
    click.echo(f"{made.path}: {made.vectors:,} vectors in {made.lists:,} lists", err=True)
    for probes, found in made.recalls.items():
        default = ", the default" if probes == made.probes else ""
        click.echo(f"  {probes:,} lists searched: recall {found:.1%}{default}", err=True)
