"""The command `jinx-pipeline convert-dialog`: converts dialogs between layouts."""

from collections.abc import Iterator
from typing import Any

import click

from jinx_pipeline.cli.running import examples


@click.command(
    name="convert-dialog",
    epilog=examples(
        "jinx-pipeline convert-dialog llava.json out.jinx --from llava --to messages",
        "jinx-pipeline convert-dialog in.jinx alpaca.jsonl --from messages --to alpaca",
    ),
)
@click.argument("source", type=click.Path())
@click.argument("out", type=click.Path())
@click.option("--from", "layout", required=True, help="messages, llava, sharegpt, alpaca or query_response.")
@click.option("--to", "target", required=True, help="The layout of OUT.")
@click.option("--overwrite", is_flag=True, help="Replace an existing output.")
def convert_dialog(source: str, out: str, layout: str, target: str, *, overwrite: bool) -> None:
    """Convert the dialogs in SOURCE from one layout to another.

    Columns that a layout does not know pass through. If such a column has the name of a column of the new layout, the
    command fails. It also fails on a sample that does not have the layout, and names the sample.
    """
    import jinx
    from jinx._outputs import refuse_input
    from jinx_pipeline.sample import LAYOUTS, DialogError
    from jinx_pipeline.sample import convert_dialog as converted

    for name in (layout, target):
        if name not in LAYOUTS:
            raise click.UsageError(f"no layout {name!r}; there are: {', '.join(LAYOUTS)}")
    refuse_input(out, [source])

    def samples() -> Iterator[dict[str, Any]]:
        for number, sample in enumerate(jinx.stream(source)):
            try:
                yield converted(sample, layout, target)  # type: ignore[arg-type]
            except DialogError as error:
                raise ValueError(f"{source}: sample {number}: {error}") from None

    result = jinx.convert(samples(), out, overwrite=overwrite)
    click.echo(f"{out}: {result.samples:,} samples", err=True)
