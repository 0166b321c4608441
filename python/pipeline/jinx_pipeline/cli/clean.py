"""The command `jinx-pipeline clean`: media in stores that no output and no table names."""

import click

from jinx_pipeline.cli.running import examples, print_json


@click.command(
    epilog=examples("jinx-pipeline clean clips.jinx.work", "jinx-pipeline clean a.jinx.work b.jinx.work --remove")
)
@click.argument("run_dirs", type=click.Path(), metavar="WORK_DIR...", nargs=-1)
@click.option("--remove", is_flag=True, help="Remove them.")
@click.option(
    "--min-hours",
    type=click.FloatRange(0),
    default=24.0,
    show_default=True,
    help="Leave out media that are younger, because another run may write them now.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the files as JSON.")
def clean(run_dirs: tuple[str, ...], min_hours: float, *, remove: bool, as_json: bool) -> None:
    """List the media in the stores (`save_dir`) of runs that none of their outputs and tables names.

    Such files remain if a worker died after it had stored a clip, or if its block was run again with another version of
    FFmpeg. Name the working directories of all runs that write to the store: a file that only another run uses is
    listed too.
    """
    from jinx._sizes import natural_size
    from jinx_pipeline.orphans import orphans
    from jinx_pipeline.store.mirror import mirrored

    if not run_dirs:
        raise click.UsageError("name the working directory of a run: jinx-pipeline clean clips.jinx.work")
    found = orphans([mirrored(folder) for folder in run_dirs], min_seconds=min_hours * 3600, remove=remove)
    if as_json:
        print_json({"files": found, "removed": remove})
        return
    for file in found:
        click.echo(file)
    action = "removed" if remove else "to remove"
    click.echo(f"{len(found):,} files {action}, {natural_size(sum(found.values()))}", err=True)
