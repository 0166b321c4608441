"""`jinx merge`."""

import click

from jinx.cli.options import PATH, examples, print_json


@click.command(epilog=examples("jinx merge out/", "jinx merge out/ --json"))
@click.argument("folder", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def merge(folder: str, as_json: bool) -> None:
    """Make one dataset of the parts in FOLDER that `jinx convert IN... FOLDER --part I/N` wrote.

    No sample is copied. Missing, unfinished or surplus parts are named, and nothing is changed.
    """
    from jinx.parts import merge as run
    from jinx.sizes import natural_size

    done = run(folder)
    if as_json:
        print_json(done)
        return
    click.echo(f"{folder}: {done['rows']:,} samples, {natural_size(done['bytes'])}, {done['shards']} shards")
