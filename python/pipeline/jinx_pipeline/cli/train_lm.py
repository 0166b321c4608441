"""The command `jinx-pipeline train-lm`: trains a language model for `perplexity_filter`."""

from typing import Literal

import click

from jinx_pipeline.cli.running import examples


@click.command(
    name="train-lm",
    epilog=examples(
        "jinx-pipeline train-lm good.jinx en.arpa",
        "jinx-pipeline train-lm zh.jsonl zh.arpa --unit character --order 4 --text 'messages[*].content'",
    ),
)
@click.argument("source", type=click.Path())
@click.argument("out", type=click.Path())
@click.option("--text", default="text", show_default=True, help="The column or path of the texts.")
@click.option("--order", type=click.IntRange(1, 10), default=5, show_default=True, help="Words of the longest n-grams.")
@click.option(
    "--unit",
    type=click.Choice(["word", "character"]),
    default="word",
    show_default=True,
    help="What counts as a word: text between white space, or a character.",
)
@click.option("--limit", type=click.IntRange(1), help="Use only this many samples from the beginning.")
@click.option("--overwrite", is_flag=True, help="Replace an existing output.")
def train_lm(
    source: str,
    out: str,
    *,
    text: str,
    order: int,
    unit: Literal["word", "character"],
    limit: int | None,
    overwrite: bool,
) -> None:
    """Train a language model for perplexity_filter on the texts of SOURCE and write it to OUT, an ARPA file.

    Each line of a text is a sentence. The smoothing is modified Kneser-Ney, interpolated. Training keeps all n-grams in
    memory, about 100 bytes for each; use --limit for a part of a large dataset.
    """
    from jinx_pipeline.language_models import train

    count = train(source, out, text=text, order=order, unit=unit, limit=limit, overwrite=overwrite)
    click.echo(f"{out}: a model of {count:,} samples", err=True)
