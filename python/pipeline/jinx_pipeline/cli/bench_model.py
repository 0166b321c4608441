"""The command `jinx-pipeline bench-model`: how busy the models of a recipe are."""

from typing import Any

import click

from jinx_pipeline.cli.running import examples, input_options, print_json, read_with_input


@click.command(
    "bench-model",
    epilog=examples(
        "jinx-pipeline bench-model image-text-quality --in pairs.jinx",
        "jinx-pipeline bench-model recipe.yaml --samples 1000 --device cuda",
    ),
)
@click.argument("recipe", type=click.Path())
@input_options
@click.option("--samples", type=click.IntRange(1), default=256, show_default=True, help="How many samples.")
@click.option("--threads", type=click.IntRange(1), help="Threads that prepare inputs; by default one for each core.")
@click.option("--device", default="auto", show_default=True, help="The device of models that name none.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def bench_model(
    recipe: str, source: str | None, samples: int, threads: int | None, device: str, *, as_json: bool, **options: Any
) -> None:
    """Run the operators of RECIPE on its first samples, and say how busy their models are and what limits them.

    The share in which a model runs is its utilization; what it waits for is the reading, decoding and tokenizing of
    inputs. Operators that look at all samples, or that ask services, are left out. Nothing is written.
    """
    from jinx_pipeline.bench_model import measure

    place = _device() if device == "auto" else device
    loaded = read_with_input(recipe, source, options)
    uses = []
    for use in measure(loaded, samples=samples, threads=threads, device=place):
        uses.append({**vars(use), "device": place, "limit": use.limit})
        if as_json:
            continue
        rate = f"{use.samples / use.seconds:,.1f} samples/s"
        click.echo(f"{use.operator} on {place}: {rate}, {use.inputs:,} inputs in {use.batches:,} batches")
        click.echo(f"  the model runs {use.running:.0%} of the time, and waits for inputs {use.waiting:.0%}")
        if use.gpu_bytes is not None:
            click.echo(f"  {use.gpu_bytes / 1e9:.1f} GB of the GPU")
        click.echo(f"  limited by {use.limit}")
    if as_json:
        print_json(uses)


def _device() -> str:
    from jinx_pipeline.optional import require

    torch = require("torch", extra="model", what="bench-model")
    if torch.cuda.is_available():
        return "cuda:0"
    return "mps" if torch.backends.mps.is_available() else "cpu"
