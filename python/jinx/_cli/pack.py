"""`jinx pack`: plan which samples share a sequence, and compare it with other ways to batch them."""

from typing import TYPE_CHECKING, Any

import click

from jinx._cli.parameters import PATH, examples, print_json
from jinx._pack.config import OVERSIZE, STRATEGIES

if TYPE_CHECKING:
    from jinx._pack.comparison import PackComparison
    from jinx._pack.stats import PackStats

_AT_LEAST_ONE = click.IntRange(min=1)


@click.command(
    epilog=examples(
        "jinx pack train.jinx --max-length 4096 --max-images 8 --save plan.jinx",
        "jinx pack train.jinx --compare --plot packs.png --json packs.json",
    )
)
@click.argument("path", type=PATH)
@click.option("--max-length", type=_AT_LEAST_ONE, default=4096, show_default=True, help="Tokens of a pack.")
@click.option("--max-images", type=_AT_LEAST_ONE, help="Images of a pack at most.")
@click.option("--max-patches", type=_AT_LEAST_ONE, help="Patches of a pack at most.")
@click.option("--lengths", default="num_tokens", show_default=True, help="The column with the number of tokens.")
@click.option("--strategy", type=click.Choice(STRATEGIES), default="knapsack", show_default=True)
@click.option("--window", type=_AT_LEAST_ONE, default=16384, show_default=True, help="Samples packed together.")
@click.option(
    "--oversize", type=click.Choice(OVERSIZE), default="drop", show_default=True, help="Samples over a budget."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the order of the samples.")
@click.option("--epoch", type=click.IntRange(min=0), default=0, show_default=True, help="Which of the seed's orders.")
@click.option("--save", type=PATH, help="Save the plan; jinx.PackPlan.load opens it.")
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
@click.option("--compare", is_flag=True, help="Compare with padding, greedy packing and bin packing.")
@click.option("--plot", type=PATH, help="Draw the packs, or with --compare all ways (.png, .svg or .pdf).")
@click.option("--batch-size", type=_AT_LEAST_ONE, default=8, show_default=True, help="Of naive padding.")
@click.option("--tokens-per-image", type=click.IntRange(min=0), default=0, help="Hatched in the picture.")
@click.option(
    "--json", "json_path", type=PATH, is_flag=False, flag_value="-", help="The numbers as JSON, or in a file."
)
def pack(path: str, *, save: str | None, overwrite: bool, compare: bool, plot: str | None, **options: Any) -> None:
    """Plan which samples of PATH share a sequence, so that there is almost no padding.

    Only the index of PATH is read. It must hold num_tokens, and num_images and num_patches for their budgets.
    """
    from jinx._open import open

    json_path: str | None = options.pop("json_path")
    dataset = open(path)
    _check_outputs(dataset, save, plot, json_path, overwrite=overwrite)
    if not compare:
        options.pop("batch_size")
        _plan(dataset, options, save, plot, json_path, overwrite=overwrite)
        return
    if save is not None:
        raise click.UsageError("--save needs a plan; leave out --compare")
    if options.pop("epoch") or options.pop("strategy") != "knapsack" or options.pop("oversize") != "drop":
        raise click.UsageError("--compare has strategies of its own: leave out --strategy, --oversize and --epoch")
    from jinx._pack.comparison import compare_packing

    comparison = compare_packing(dataset, **options)
    if plot is not None:
        comparison.plot(plot)
    if json_path == "-":
        print_json(comparison.to_dict())
        return
    if json_path is not None:
        comparison.save_json(json_path)
    for line in _table(comparison):
        click.echo(line)


def _check_outputs(dataset: Any, save: str | None, plot: str | None, json_path: str | None, *, overwrite: bool) -> None:
    from jinx._outputs import other_file_name, refuse_existing, refuse_input

    others = [other_file_name(out, "pictures and numbers are other files") for out in (plot, json_path) if out]
    outputs = [out for out in (save, *others) if out is not None and out != "-"]
    for out in outputs:
        refuse_input(out, [*dataset._shard_paths, *(file for root in dataset._root_files() for file in root.paths)])
        if not overwrite:
            refuse_existing(out)


def _plan(
    dataset: Any, options: dict[str, Any], save: str | None, plot: str | None, json_path: str | None, *, overwrite: bool
) -> None:
    from jinx._pack.pack import pack as make

    tokens_per_image = options.pop("tokens_per_image")
    plan = make(dataset, **options)
    if plot is not None:
        plan.plot(plot, tokens_per_image=tokens_per_image)
    if save is not None:
        plan.save(save, overwrite=overwrite)
    stats = plan.stats()
    if json_path == "-":
        print_json(stats.to_dict())
        return
    if json_path is not None:
        from jinx._atomic_write import write_json

        write_json(json_path, stats.to_dict())
    for line in _facts(stats):
        click.echo(line)


def _facts(stats: "PackStats") -> list[str]:
    facts = [
        ("packs", f"{stats.packs:,}"),
        ("samples", f"{stats.samples:,}, {stats.samples_per_pack:.2f} a pack"),
        ("tokens", f"{stats.tokens:,}, {stats.efficiency:.2%} of the packs"),
        *((f"{name} used", f"{part:.2%}") for name, part in stats.used.items() if name != "num_tokens"),
        ("over the bound", f"{stats.over_bound:.2%} more than the {stats.volume_bound:,} packs needed at least"),
        ("left out", f"{stats.dropped_empty:,} empty, {stats.dropped_oversize:,} over a budget"),
    ]
    if stats.truncated:
        facts.append(("truncated", f"{stats.truncated:,}"))
    if stats.packs_without_images is not None:
        facts.append(("no images", f"{stats.packs_without_images:,} packs"))
    width = max(len(name) for name, _ in facts) + 2
    return [f"{name:{width}}{text}" for name, text in facts]


def _table(comparison: "PackComparison") -> list[str]:
    lines = [f"{'':20} {'useful':>8} {'sequences':>12} {'samples':>12} {'dropped':>10}  images (min mean max)"]
    for stage in comparison.stages:
        images = "" if stage.images is None else f"  {stage.images[0]} {stage.images[1]:.2f} {stage.images[2]}"
        name = stage.name.replace("_", " ")
        lines.append(
            f"{name:20} {stage.efficiency:>8.2%} {stage.rows:>12,} {stage.samples:>12,} {stage.dropped:>10,}{images}"
        )
    before, after = comparison.imbalance["before"], comparison.imbalance["after"]
    lines.append(
        f"{comparison.cost}, slowest of 8 ranks over the mean: {before:.3f} in the plan's order, {after:.3f} balanced"
    )
    return lines
