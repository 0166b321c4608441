"""The command `jinx-pipeline import-recipe`: converts recipes of other tools."""

from pathlib import Path

import click

from jinx_pipeline.cli.running import examples


@click.command(
    name="import-recipe",
    epilog=examples(
        "jinx-pipeline import-recipe their.yaml recipe.yaml", "jinx-pipeline import-recipe steps.yaml ours.yaml"
    ),
)
@click.argument("source", type=click.Path())
@click.argument("out", type=click.Path())
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
def import_recipe(source: str, out: str, *, overwrite: bool) -> int:
    """Convert a recipe of Data-Juicer or a pipeline of MLDataForge, and report what cannot be converted.

    Code in the recipe is written to files next to OUT, so that you can read it first; it is not run.
    """
    from jinx._outputs import refuse_input
    from jinx._sizes import counted
    from jinx_pipeline.recipe.import_data_juicer import imported
    from jinx_pipeline.recipe.yaml_text import read_yaml

    target = Path(out)
    refuse_input(out, [source])
    data = read_yaml(str(source)).value
    if not isinstance(data, dict):
        raise click.UsageError(f"{source}: not a recipe")
    converted = imported(data, target.stem)
    for step in converted.recipe["process"]:
        parameters = step.get("python_file_mapper") if isinstance(step, dict) else None
        if parameters is not None:
            parameters["file_path"] = str(target.with_name(parameters["file_path"]))
    files = {target.with_name(name): text for name, text in converted.files.items()}
    files[target] = converted.text()
    for path in files:
        if path.exists() and not overwrite:
            raise FileExistsError(f"{path} exists; to replace it: --overwrite")
    for path, text in files.items():
        path.write_text(text, "utf-8")
    for note in converted.notes:
        click.echo(f"note: {note}", err=True)
    for remark in converted.remarks:
        click.echo(remark, err=True)
    operators, remarks = (
        counted(len(converted.recipe["process"]), "operator"),
        counted(len(converted.remarks), "remark"),
    )
    click.echo(f"{out}: {operators}, {remarks}", err=True)
    return 0
