"""`jinx notes`: what people said about samples in `jinx view`."""

from typing import Any

import click

from jinx._cli.parameters import PATH, examples, print_json


@click.command(
    epilog=examples(
        "jinx notes anna.notes --save annotated.jinx",
        "jinx notes anna.notes ben.notes --save annotated.jinx --json",
    )
)
@click.argument("files", metavar="FILE...", type=PATH, nargs=-1, required=True)
@click.option("--save", type=PATH, help="Save the annotated samples as a view with the notes as columns.")
@click.option("--dataset", type=PATH, help="Where the dataset is now; by default where it was.")
@click.option("--overwrite", is_flag=True, help="Replace an existing view.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def notes(files: tuple[str, ...], save: str | None, dataset: str | None, overwrite: bool, as_json: bool) -> None:
    """Say what is in each FILE of notes, and how far several people agree; save the annotated samples.

    A person's columns are tags and note; those of several end in the person's name, and agreed says whether all who
    tagged a sample gave it the same tags. No sample is copied.
    """
    from jinx._notes.journal import NotesFile
    from jinx._notes.merge import agreement, annotated
    from jinx._open import open
    from jinx._outputs import refuse_input

    read = [NotesFile.read(file) for file in files]
    facts = agreement(read)
    if save is not None:
        refuse_input(save, list(files))
        annotated(read, None if dataset is None else open(dataset)).save(save, overwrite=overwrite)
    if as_json:
        print_json(facts)
        return
    for file in read:
        click.echo(f"{file.path}: {len(file.given):,} samples by {file.by}, about {file.dataset}")
    if len(read) > 1:
        for line in _agreement_lines(facts):
            click.echo(line)


def _agreement_lines(facts: dict[str, Any]) -> list[str]:
    shared = facts["shared"]
    if not shared:
        return ["no sample was annotated by two people"]
    lines = [f"{shared:,} samples by more than one", f"the same tags      {facts['percent']:.1%}"]
    for name, label in (("cohen_kappa", "Cohen's kappa"), ("krippendorff_alpha", "Krippendorff alpha")):
        if facts[name] is not None:
            lines.append(f"{label:19}{facts[name]:.3f}")
    return lines
