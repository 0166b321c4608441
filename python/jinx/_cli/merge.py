"""`jinx merge`: make one dataset of the parts that several processes wrote."""

import click

from jinx._cli.parameters import PATH, examples, print_json


@click.command(epilog=examples("jinx merge out/", "jinx merge out/ --json"))
@click.argument("directory", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def merge(directory: str, as_json: bool) -> None:
    """Merge the parts in DIRECTORY, as `jinx convert IN... DIRECTORY --part I/N` writes them, into one dataset.

    No sample is copied. Missing, unfinished or surplus parts are named, and nothing is changed.
    """
    from jinx._files.merge import merge as run
    from jinx._sizes import natural_size

    done = run(directory)
    if as_json:
        print_json(done.to_dict())
        return
    click.echo(f"{directory}: {done.samples:,} samples, {natural_size(done.bytes)}, {done.shards} shards")
