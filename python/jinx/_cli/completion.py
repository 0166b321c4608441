"""`jinx completion`: prints the script for shell completion."""

import click

from jinx._cli.parameters import examples

_WHERE = {
    "bash": "~/.bashrc:  source <(jinx completion bash)",
    "zsh": "~/.zshrc:  source <(jinx completion zsh)",
    "fish": "jinx completion fish > ~/.config/fish/completions/jinx.fish",
}


@click.command(epilog=examples("source <(jinx completion bash)", "jinx completion fish | source"))
@click.argument("shell", type=click.Choice(list(_WHERE)))
def completion(shell: str) -> None:
    """Print the script with which SHELL completes commands, options and paths of jinx."""
    from click.shell_completion import get_completion_class

    from jinx._cli.program import jinx

    completion_class = get_completion_class(shell)
    if completion_class is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(f"# {_WHERE[shell]}")
    click.echo(completion_class(jinx, {}, "jinx", "_JINX_COMPLETE").source())
