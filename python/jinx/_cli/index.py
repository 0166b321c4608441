"""`jinx index`: make and change files of positions, in MLDataForge's format."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jinx._cli.parameters import AT_LEAST_ONE, COUNT, PATH, examples
from jinx._convert.formats import NAMES

if TYPE_CHECKING:
    from jinx._rewrite.positions_file import Origin

C = TypeVar("C", bound=Callable[..., Any])

_INPUTS = click.argument("paths", nargs=-1, type=PATH, metavar="[IN...] OUT")
_ONE_FILE = click.argument("paths", nargs=-1, type=PATH, metavar="IN OUT")
_SPLIT = click.option("--split", metavar="NAME", help="Only this split of the inputs.")
_FORMAT = click.option(
    "--input-format", type=click.Choice(NAMES), help="The inputs' format, if the suffix does not say."
)
_SLICE = ("every", "offset", "percentage", "number")


def _common(command: C) -> C:
    """Give a command the options that all index commands have, in the order in which these are applied."""
    decorated: Any = click.option("--overwrite", is_flag=True, help="Replace an output that exists.")(command)
    for option, kind, metavar, text in (
        ("--number", COUNT, "N", "Then the first N; without inputs, the number of samples."),
        ("--percentage", click.FLOAT, "SHARE", "Then this share of them, from 0 to 1."),
        ("--offset", COUNT, "N", "Then leave out the first N."),
        ("--every", AT_LEAST_ONE, "N", "Only every N-th position."),
    ):
        decorated = click.option(option, type=kind, metavar=metavar, help=text)(decorated)
    return decorated


def _ends(paths: Sequence[str], example: str) -> tuple[list[str], str]:
    if not paths:
        raise click.UsageError(f"where to? For instance: jinx index {example}")
    return list(paths[:-1]), paths[-1]


def _write(out: str, values: Any, origin: "Origin | None", options: dict[str, Any]) -> Any:
    """Write the positions that the options select, and return them."""
    from jinx._rewrite.position_arrays import sliced
    from jinx._rewrite.positions_file import write_positions

    kept = sliced(values, **{name: options[name] for name in _SLICE})
    write_positions(out, kept, origin)
    _say(out, len(kept))
    return kept


def _say(out: str, count: int) -> None:
    from jinx._sizes import counted

    click.echo(f"{out}: {counted(count, 'position')}", err=True)


def _free(out: str, options: dict[str, Any]) -> None:
    from jinx._outputs import positions_name, refuse_existing

    name = positions_name(out)
    if not options["overwrite"]:
        refuse_existing(name)


def _samples(inputs: list[str], out: str, options: dict[str, Any]) -> "Origin | None":
    """The origin of the positions: the samples of the inputs, or the number in `--number`."""
    from jinx._convert.inputs import find_inputs
    from jinx._outputs import refuse_input
    from jinx._rewrite.position_arrays import samples_of

    for path in inputs:
        refuse_input(out, find_inputs([path], options["input_format"]).files)
    if inputs:
        return samples_of(inputs, options.get("split"), options["input_format"])
    if options["number"] is None:
        raise click.UsageError("of how many samples? Name the inputs, or give --number")
    return None


@click.group(
    epilog=examples(
        "jinx index shuffle all.jinx order.npy --seed 1",
        "jinx index slice order.npy train.npy --percentage 0.9 --remainder test.npy",
    )
)
def index() -> None:
    """Make and change files of positions, for `jinx select` and for MLDataForge.

    OUT is a .npy file of uint64 as MLDataForge writes it, a .json file, or, with any other name, a text file with one
    position per line. If the dataset can be read in place, the file also identifies it.
    """


@index.command(
    epilog=examples("jinx index identity all.jinx first.npy --number 100", "jinx index identity ten.npy --number 10")
)
@_INPUTS
@_FORMAT
@_common
def identity(paths: tuple[str, ...], **options: Any) -> None:
    """The positions of all samples of IN, in their order."""
    import numpy as np

    inputs, out = _ends(paths, "identity all.jinx out.npy")
    _free(out, options)
    origin = _samples(inputs, out, options)
    _write(out, np.arange(options["number"] if origin is None else origin.samples), origin, options)


@index.command(
    epilog=examples("jinx index shuffle all.jinx order.npy --seed 1", "jinx index shuffle shards order.npy --number 9")
)
@_INPUTS
@_SPLIT
@_FORMAT
@click.option("--seed", type=COUNT, default=42, show_default=True, metavar="N", help="The same seed, the same order.")
@_common
def shuffle(paths: tuple[str, ...], seed: int, **options: Any) -> None:
    """The positions of all samples of IN in a random order, the same as MLDataForge's for this seed."""
    _random(paths, seed, "shuffle all.jinx out.npy", options)


@index.command(epilog=examples("jinx index random all.jinx order.npy", "jinx index random order.npy --number 100"))
@_INPUTS
@_SPLIT
@_FORMAT
@click.option(
    "--seed", type=COUNT, metavar="N", help="The same seed, the same order; another one each time if not given."
)
@_common
def random(paths: tuple[str, ...], seed: int | None, **options: Any) -> None:
    """The positions of all samples of IN, or of --number, in a random order."""
    _random(paths, seed, "random all.jinx out.npy", options)


def _random(paths: Sequence[str], seed: int | None, example: str, options: dict[str, Any]) -> None:
    from jinx._rewrite.position_arrays import shuffled

    inputs, out = _ends(paths, example)
    _free(out, options)
    origin = _samples(inputs, out, options)
    _write(out, shuffled(options["number"] if origin is None else origin.samples, seed), origin, options)


@index.command(
    epilog=examples("jinx index sort all.jinx order.npy --by -score", "jinx index sort all.jinx a.npy --by 'len(text)'")
)
@_INPUTS
@_SPLIT
@_FORMAT
@click.option(
    "--by", metavar="KEY", help="A column or path, its length len(PATH), either with a - in front to reverse it."
)
@click.option("--code", metavar="FILE:FUNCTION", help="A Python function of the sample that returns its key.")
@_common
def sort(paths: tuple[str, ...], by: str | None, code: str | None, **options: Any) -> None:
    """The positions of all samples of IN in the order of a key; samples without a value come last."""
    import numpy as np

    from jinx._dataset.columns import packed
    from jinx._dataset.sort_order import stable_order
    from jinx._order.code_keys import in_this_process
    from jinx._rewrite.inputs import opened
    from jinx._rewrite.positions_file import Origin

    inputs, out = _ends(paths, "sort all.jinx out.npy --by score")
    if not inputs:
        raise click.UsageError("sort needs inputs: jinx index sort all.jinx out.npy --by score")
    if (by is None) == (code is None):
        raise click.UsageError("sort by what? Give one of --by and --code")
    _free(out, options)
    with opened(inputs, out, {"input_format": options["input_format"]}, split=options["split"]) as dataset:
        origin = Origin.of(dataset)
        if code is not None:
            order = stable_order(packed(in_this_process(dataset, code)), None, descending=False)
        else:
            # Saved views also number their samples from 0, so the order counts samples of the view.
            order = np.frombuffer(dataset.sort(by or "")._indices or b"", dtype="<u8").astype(np.int64)
        _write(out, order, origin, options)


@index.command(
    epilog=examples("jinx index join one.npy two.npy both.npy", "jinx index join a.npy b.json c.txt --every 2")
)
@click.argument("paths", nargs=-1, type=PATH, metavar="IN... OUT")
@_common
def join(paths: tuple[str, ...], **options: Any) -> None:
    """The positions in several files, one after the other."""
    import numpy as np

    from jinx._rewrite.positions_file import read_positions

    inputs, out = _ends(paths, "join a.npy b.npy out.npy")
    if not inputs:
        raise click.UsageError("join what? For instance: jinx index join a.npy b.npy out.npy")
    _free(out, options)
    inputs_read = [read_positions(path) for path in inputs]
    origins = {positions.origin for positions in inputs_read}
    if len(origins - {None}) > 1:
        raise ValueError("these files hold positions of different datasets")
    _write(
        out,
        np.concatenate([positions.values for positions in inputs_read]),
        inputs_read[0].origin if len(origins) == 1 else None,
        options,
    )


@index.command(epilog=examples("jinx index reverse order.npy back.npy", "jinx index reverse order.npy back.json"))
@_ONE_FILE
@_common
def reverse(paths: tuple[str, ...], **options: Any) -> None:
    """The inverse of the order in a file: it puts shuffled samples back."""
    from jinx._rewrite.position_arrays import inverted
    from jinx._rewrite.positions_file import Origin, read_positions

    path, out = _pair(paths, "reverse")
    _free(out, options)
    positions = read_positions(path)
    # The order belongs to the reordered dataset, which has the same number of samples and an unknown id.
    origin = None if positions.origin is None else Origin("", positions.origin.samples)
    _write(out, inverted(positions.values), origin, options)


@index.command(
    epilog=examples(
        "jinx index slice all.npy train.npy --percentage 0.9 --remainder test.npy",
        "jinx index slice a.npy b.npy --every 2",
    )
)
@_ONE_FILE
@click.option("--remainder", type=PATH, metavar="FILE", help="Write the positions that OUT does not get to this file.")
@_common
def slice(paths: tuple[str, ...], remainder: str | None, **options: Any) -> None:
    """Some of the positions in a file; the others go to another file."""
    from jinx._outputs import separate_file
    from jinx._rewrite.position_arrays import without
    from jinx._rewrite.positions_file import read_positions, write_positions

    path, out = _pair(paths, "slice")
    _free(out, options)
    if remainder is not None:
        remainder = separate_file(remainder, out, overwrite=options["overwrite"])
    positions = read_positions(path)
    kept = _write(out, positions.values, positions.origin, options)
    if remainder is not None:
        excluded = without(positions.values, kept)
        write_positions(remainder, excluded, positions.origin)
        _say(remainder, len(excluded))


def _pair(paths: Sequence[str], command: str) -> tuple[str, str]:
    if len(paths) != 2:  # noqa: PLR2004
        raise click.UsageError(f"give one file and the output: jinx index {command} in.npy out.npy")
    return paths[0], paths[1]
