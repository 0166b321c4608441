"""`jinx annotate`: count the tokens and images of samples."""

from typing import Any

import click

from jinx._cli.parameters import COUNT, PATH, examples, print_json


@click.command(
    epilog=examples(
        "jinx annotate train.jinx lengths.jinx --tokenizer model/ --image-rule qwen-vl",
        "jinx annotate train.jinx lengths.jinx --tokenizer model/ --image-rule fixed:64 --tokens",
    )
)
@click.argument("dataset", metavar="IN", type=PATH)
@click.argument("out", type=PATH)
@click.option("--tokenizer", type=PATH, help="A tokenizer.json, or the directory that holds it.")
@click.option(
    "--chat-template",
    default="auto",
    show_default=True,
    metavar="FILE",
    help="A Jinja template; auto takes the one that came with the tokenizer.",
)
@click.option(
    "--image-rule",
    metavar="RULE",
    help="What an image costs: fixed:64, tiles:size=448,max=12,tokens=256 or qwen-vl:max_pixels=1003520.",
)
@click.option("--image-token", metavar="TEXT", help="The token that stands for an image, if it is not a usual one.")
@click.option("--text-column", metavar="NAME", help="The conversation or text, if it has no usual name.")
@click.option("--image-column", metavar="NAME", help="The image or images, if the column has no usual name.")
@click.option(
    "--code", metavar="FILE.py:FUNCTION", help="Count with a function of the sample that returns the lengths."
)
@click.option("--tokens", is_flag=True, help="Also keep the token ids and which of them count in the loss.")
@click.option("--workers", type=COUNT, help="Processes; one per core if not given. --code has one at least.")
@click.option("--overwrite", is_flag=True, help="Replace an existing view.")
@click.option("--progress", type=click.Choice(["auto", "plain", "none"]), default="auto", help="How to show progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def annotate(dataset: str, out: str, code: str | None, progress: str, as_json: bool, **options: Any) -> None:
    """Count what each sample of IN costs in training, and save the counts as the view OUT.

    The view has the columns num_tokens, num_label_tokens, num_images and num_patches, and keeps how they were counted.
    A size that was not counted has no column: images without --image-rule, or counts that the function of --code does
    not return. IN does not change. No image is decoded or copied.
    """
    from jinx._annotate.annotate import annotate as run
    from jinx._cli.progress import ProgressBar, natural_seconds
    from jinx._cli.user_function import function_from
    from jinx._sizes import natural_size

    with ProgressBar("samples", "none" if as_json else progress) as bar:
        function = None if code is None else function_from(code)
        done = run(dataset, out, function=function, progress=bar, **options)
    if as_json:
        print_json({**done.to_dict(), "seconds": round(bar.seconds, 3)})
        return
    spent = natural_seconds(bar.seconds)
    click.echo(f"{out}: {done.samples:,} samples, {natural_size(done.bytes)}, in {spent}", err=True)
