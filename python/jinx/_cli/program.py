"""The table of the commands of `jinx`; the module of a command is loaded when it is called."""

import click

from jinx import __version__
from jinx._cli.command_line import Commands, Program

# The module of each command, and its summary in `jinx --help`.
COMMANDS = {
    "convert": ("jinx._cli.convert", "Convert between Parquet, JSON lines, MessagePack and JINX."),
    "head": ("jinx._cli.head_cat", "Print the first samples as JSON lines."),
    "cat": ("jinx._cli.head_cat", "Print all samples as JSON lines."),
    "get": ("jinx._cli.get_extract", "Write one column of one sample to standard output."),
    "extract": ("jinx._cli.get_extract", "Write one column of every sample to files."),
    "view": ("jinx._cli.view", "Look at samples in the browser."),
    "notes": ("jinx._cli.notes", "Read, compare and save what people noted in the viewer."),
    "info": ("jinx._cli.info", "Say what is in a file."),
    "verify": ("jinx._cli.verify_repair_clean", "Compare everything with its checksums."),
    "repair": ("jinx._cli.verify_repair_clean", "Save the intact samples of a damaged file."),
    "shuffle": ("jinx._cli.shuffle_sort", "Write a dataset in shuffled order."),
    "sort": ("jinx._cli.shuffle_sort", "Write a dataset sorted by columns, paths or lengths."),
    "split": ("jinx._cli.rewrite", "Divide a dataset into parts."),
    "concat": ("jinx._cli.rewrite", "Join datasets of any formats as one."),
    "select": ("jinx._cli.rewrite", "Write the samples at positions."),
    "dedup": ("jinx._cli.rewrite", "Leave out samples that are the same as earlier ones."),
    "compact": ("jinx._cli.rewrite", "Write many small files as few large ones."),
    "index": ("jinx._cli.index", "Make and change files of positions."),
    "vector-index": ("jinx._cli.vector_index", "Make an index of a column of vectors."),
    "merge": ("jinx._cli.merge", "Merge the parts that several writers wrote into one dataset."),
    "mv": ("jinx._cli.mv_cp_rm", "Move or rename datasets, their sidecars with them."),
    "cp": ("jinx._cli.mv_cp_rm", "Copy datasets, their sidecars with them."),
    "rm": ("jinx._cli.mv_cp_rm", "Remove datasets, their sidecars with them."),
    "rebase": ("jinx._cli.mv_cp_rm", "Tell a saved view where its datasets are now."),
    "annotate": ("jinx._cli.annotate", "Count what each sample costs in training, as a saved view."),
    "clean": ("jinx._cli.verify_repair_clean", "Remove leftover temporary files from a directory."),
    "pack": ("jinx._cli.pack", "Plan which samples share a sequence, and compare ways to batch them."),
    "cache": ("jinx._cli.cache", "Show or remove the copies of remote data on this machine."),
    "pipeline": ("jinx._cli.pipeline", "Run recipes of operators; see jinx-pipeline."),
    "completion": ("jinx._cli.completion", "Print the completion script for a shell."),
}


@click.command(
    cls=Commands,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExamples:\n  jinx convert in.parquet out.jinx --sidecar\n  jinx head out.jinx | jq .",
)
@click.version_option(__version__, prog_name="jinx")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def jinx(debug: bool) -> None:
    """Multimodal training data in two plain files.

    `jinx COMMAND --help` explains a command and ends with examples.
    """
    del debug


run = Program(jinx, "jinx").run
