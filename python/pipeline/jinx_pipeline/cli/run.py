"""The command `jinx-pipeline run`: runs a recipe."""

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from jinx_pipeline.cli.graph_files import drawn, refuse_other_pictures
from jinx_pipeline.cli.running import examples, input_options, print_result, read_with_input, result_of, run_options
from jinx_pipeline.engines.local.launch import early_start

if TYPE_CHECKING:
    from jinx_pipeline.recipe.model import Recipe
    from jinx_pipeline.run import Run, RunResult


@click.command(
    epilog=examples(
        "jinx-pipeline run recipe.yaml --limit 100",
        "jinx-pipeline run web-en --in pages.jinx --out good.jinx",
        "jinx-pipeline run web-en --in chats.jinx --text messages[*].content --out good.jinx",
    ),
)
@click.argument("recipe", type=click.Path(), required=False)
@input_options
@click.option("--out", type=click.Path(), help="Write to this path instead of the recipe's.")
@click.option("--overwrite", is_flag=True, help="Replace an existing output.")
@click.option("--append", is_flag=True, help="Add to an existing directory of shards, in one step.")
@click.option("--restart", is_flag=True, help="Discard the work of an interrupted run.")
@click.option("--limit", type=click.IntRange(1), help="Try the recipe on so many samples, and show what it drops.")
@click.option("--from-stats", type=click.Path(), help="Use the statistics of this output of analyze.")
@click.option("--trace", type=click.IntRange(0), help="Keep so many examples of what each operator changed or dropped.")
@click.option("--report", type=click.Path(), help="Write a report on the run, one HTML file.")
@click.option(
    "--insight",
    type=click.IntRange(1),
    help="Show in the report what operators change, on so many samples of a source.",
)
@click.option(
    "--graph", type=click.Path(), help="Draw the run, with rows and seconds: to a file .svg, or .mmd for Mermaid."
)
@click.option("--metrics", type=click.Path(), help="Write the counts of the run for Prometheus, one text file.")
@click.option(
    "--serve-metrics",
    metavar="PORT",
    help="Serve the counts at http://127.0.0.1:PORT/metrics while it runs; HOST:PORT for other machines.",
)
@run_options
def run(
    recipe: str | None,
    out: str | None,
    limit: int | None,
    from_stats: str | None,
    progress: str,
    *,
    report: str | None,
    insight: int | None,
    graph: str | None,
    metrics: str | None,
    serve_metrics: str | None,
    source: str | None,
    overwrite: bool,
    append: bool,
    restart: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Run RECIPE, or resume an interrupted run.

    RECIPE is a file, or the name of a recipe that comes with the package; without RECIPE, these names are listed. The
    output appears only when everything is written. A row on which an operator fails is left out and reported, and no
    other row is lost. The exit code is 1 if there are more such rows than --max-bad-rows.
    """
    if recipe is None:
        from jinx_pipeline.recipe.shipped import shipped

        for name, purpose in shipped().items():
            click.echo(f"{name:12}  {purpose}")
        return 0
    if limit is not None:
        useless = {"--append": append, "--restart": restart, "--from-stats": from_stats, "--report": report}
        useless |= {"--insight": insight, "--graph": graph, "--metrics": metrics, "--serve-metrics": serve_metrics}
        _refuse_with_limit({**useless, "--work-dir": options["work_dir"]})
        from jinx_pipeline.cli.trial import print_trial

        examples = options["trace"]
        return print_trial(_read(recipe, source, out, options), limit, examples=examples, as_json=as_json)
    if insight is not None and report is None:
        raise click.UsageError("--insight is a part of the report; name its file: --report report.html")
    refuse_other_pictures(graph)
    with nullcontext() if options["engine"] == "ray" else early_start.started():
        from jinx_pipeline.cli.report_files import refuse_file_places
        from jinx_pipeline.run import Run

        loaded = _read(recipe, source, out, options)
        if loaded.export is None:
            raise click.UsageError(f"{recipe} has no export; name an output: --out out.jinx")
        if from_stats is not None:
            from jinx_pipeline.stored_stats import from_stats as use_stats

            loaded = use_stats(loaded, from_stats)
        if overwrite and append:
            raise click.UsageError("--append adds to an existing output, and --overwrite replaces it; choose one")
        if overwrite or append:
            given = {"overwrite": overwrite, "append": append}
            loaded = loaded.with_exports([replace(export, **given) for export in loaded.exports])
        refuse_file_places((report, graph, metrics), loaded, overwrite=overwrite)
        run = Run(loaded, progress="none" if as_json else progress, restart=restart)
        with _served(run, serve_metrics):
            result = result_of(run)
    if report is not None:
        _write_report(run.recipe, result, report, insight)
    _write_files(run.recipe, result, graph, metrics)
    return print_result(result, as_json=as_json)


def _refuse_with_limit(given: dict[str, Any]) -> None:
    """Refuse options that have no effect on a trial."""
    first = next((name for name, value in given.items() if value), None)
    if first is not None:
        raise click.UsageError(f"--limit tries the recipe on a few samples and keeps nothing; leave out {first}")


def _read(name: str, source: str | None, out: str | None, options: dict[str, Any]) -> "Recipe":
    """The recipe, with the input and output of the command line."""
    loaded = read_with_input(name, source, options)
    return loaded if out is None else _with_output(loaded, name, out)


def _with_output(loaded: "Recipe", name: str, out: str) -> "Recipe":
    """The recipe with another output."""
    from jinx_pipeline.recipe.model import Export
    from jinx_pipeline.recipe.output_kind import kind_at

    if len(loaded.all_outputs) > 1:
        raise click.UsageError(f"{name} has {len(loaded.all_outputs)} outputs; --out replaces only one")
    export = loaded.export or Export(out)
    kind = kind_at(out, export.kind)
    # A single file is not divided into shards.
    shards = None if kind == "view" or out.endswith(".jinx") else export.shard_size
    return loaded.with_exports([replace(export, path=out, kind=kind, shard_size=shards)])


@contextmanager
def _served(run: "Run", address: str | None) -> Generator[None]:
    """Serve the metrics of a run at an address, if one is given."""
    if address is None:
        yield
        return
    from jinx_pipeline.report.live_metrics import LiveMetrics, MetricsServer

    counts = LiveMetrics()
    run.observers = (*run.observers, counts)
    with MetricsServer(address, counts) as server:
        click.echo(f"metrics: {server.url}", err=True)
        yield


def _write_report(recipe: "Recipe", result: "RunResult", report: str, samples: int | None) -> None:
    """Write the report, with what operators change in some samples."""
    from jinx_pipeline.cli.report_files import write_file
    from jinx_pipeline.report.page import run_page

    found = None
    if samples is not None:
        from jinx_pipeline.sample_insight import insight

        try:
            found = result_of(lambda: insight(recipe, samples, near=result.work_dir))
        except Exception as error:  # noqa: BLE001 - the run has ended, and its report must not be lost
            click.echo(f"the report is without insight: {' '.join(str(error).split())}", err=True)
    write_file(report, run_page(recipe, result, found))


def _write_files(recipe: "Recipe", result: "RunResult", graph: str | None, metrics: str | None) -> None:
    """Write the picture and the counts of the run."""
    from jinx_pipeline.cli.report_files import write_file

    if graph is not None:
        from jinx_pipeline.report.graph_picture import picture_of

        write_file(graph, drawn(picture_of(recipe, result), graph))
    if metrics is not None:
        from jinx_pipeline.report.metrics import metrics_text

        write_file(metrics, metrics_text(result))
