"""The command `jinx`."""


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    import sys

    from jinx._cli.program import run

    sys.exit(run(sys.argv[1:]))
