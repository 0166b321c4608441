"""The command `jinx-pipeline compare`: which recipe makes the better model."""

from dataclasses import asdict
from pathlib import Path

import click

from jinx_pipeline.cli.running import examples, print_json


@click.command(
    epilog=examples(
        "jinx-pipeline compare variants.yaml", "jinx-pipeline compare variants.yaml --out result.jinx --json"
    )
)
@click.argument("variants", type=click.Path())
@click.option("--out", type=click.Path(), default="compared.jinx", show_default=True, help="The table of results.")
@click.option(
    "--report", type=click.Path(), default="compared.html", show_default=True, help="The report, one HTML file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def compare(variants: str, out: str, report: str, *, as_json: bool) -> None:
    """Compare the recipes in VARIANTS by what your model learns from their outputs.

    VARIANTS names a dataset, recipes, a command that trains, a command that prints a score, and budgets of samples. Two
    controls are always added: all samples, and as many random samples as the best recipe keeps. After each budget the
    best third remains. Each model is trained with several seeds, and a difference that chance explains is called not
    distinguishable. An interrupted comparison continues where it was.
    """
    from jinx_pipeline.cli.report_files import refuse_place_of_file, write_file
    from jinx_pipeline.sandbox.comparison import compare as compared
    from jinx_pipeline.sandbox.comparison_page import comparison_page, refuse_other_table, write_table
    from jinx_pipeline.sandbox.spec import read_spec

    refuse_other_table(out)
    refuse_place_of_file(report)
    spec = read_spec(Path(variants))
    work_dir = Path(spec.work_dir or f"{variants}.work").absolute()
    result = compared(spec, work_dir, lambda line: click.echo(line, err=True))
    write_table(result, out)
    write_file(report, comparison_page(variants, result))
    if as_json:
        print_json(asdict(result))
        return
    width = max(len(row.variant) for row in result.rows)
    click.echo(f"{'variant':{width}} {'budget':>9} {'samples':>9} {'mean':>10} {'low':>10} {'high':>10} {'seconds':>9}")
    for row in result.rows:
        figures = row.error or f"{row.mean:>10.4g} {row.low:>10.4g} {row.high:>10.4g} {row.seconds:>9.1f}"
        click.echo(f"{row.variant:{width}} {row.budget:>9,} {row.samples:>9,} {figures}")
    click.echo(result.verdict.text)
    click.echo(f"{out}: {len(result.rows)} rows; report: {report}", err=True)
