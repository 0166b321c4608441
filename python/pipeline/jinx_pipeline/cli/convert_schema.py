"""The command `jinx-pipeline convert-schema`: converts samples between the schemas of datasets and trainers."""

from collections.abc import Iterator
from typing import Any

import click

from jinx_pipeline.cli.running import examples


@click.command(
    name="convert-schema",
    epilog=examples(
        "jinx-pipeline convert-schema llava.json out.jinx --from llava --to messages",
        "jinx-pipeline convert-schema in.jinx alpaca.jsonl --from messages --to alpaca",
        "jinx-pipeline convert-schema wavcaps.json out.jinx --from wavcaps --to captions",
    ),
)
@click.argument("source", type=click.Path())
@click.argument("out", type=click.Path())
@click.option("--from", "schema", required=True, help="The schema of SOURCE.")
@click.option("--to", "target", required=True, help="The schema of OUT.")
@click.option("--overwrite", is_flag=True, help="Replace an existing output.")
def convert_schema(source: str, out: str, schema: str, target: str, *, overwrite: bool) -> None:
    """Convert the samples in SOURCE from one schema to another.

    Dialogs: messages (as chat templates take them), llava, sharegpt (LLaMA-Factory), alpaca, query_response
    (Data-Juicer), swift (ModelScope-Swift), video_chatgpt. Media with captions: captions (a text with tokens, as in
    Data-Juicer), mmc4, wavcaps, msr_vtt, internvid, youku_mplug.

    Columns that a schema does not know pass through. If such a column has the name of a column of the new schema, the
    command fails. It also fails on a sample that does not have the schema, and names the sample. In alpaca,
    query_response and sharegpt, "" as system means that there is no system message, so an empty one is not kept.
    """
    import jinx
    from jinx._outputs import refuse_input
    from jinx._suggest import hint
    from jinx_pipeline.sample.dialog_errors import SchemaError
    from jinx_pipeline.sample.schemas import SCHEMAS
    from jinx_pipeline.sample.schemas import convert_schema as converted

    for name in (schema, target):
        if name not in SCHEMAS:
            known = f"; there are: {', '.join(SCHEMAS)}"
            raise click.UsageError(f"no schema {name!r}{hint(name, SCHEMAS) or known}")
    refuse_input(out, [source])

    def samples() -> Iterator[dict[str, Any]]:
        for number, sample in enumerate(_samples(jinx.stream(source), schema)):
            try:
                yield converted(sample, schema, target)  # type: ignore[arg-type]
            except SchemaError as error:
                raise ValueError(f"{source}: sample {number}: {error}") from None

    result = jinx.convert(samples(), out, overwrite=overwrite)
    click.echo(f"{out}: {result.samples:,} samples", err=True)


def _samples(stored: Any, schema: str) -> Iterator[Any]:
    """The samples of a file; one of WavCaps is a document with all of them in `data`."""
    for sample in stored:
        if schema == "wavcaps" and isinstance(sample.get("data"), list):
            yield from sample["data"]
        else:
            yield sample
