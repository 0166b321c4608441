"""The command line: `jinx-pipeline`, `python -m jinx_pipeline` and `jinx pipeline` are the same program."""

import sys


def main() -> None:
    """Run the command line with the arguments of the process."""
    from jinx_pipeline.cli.program import run

    sys.exit(run(sys.argv[1:]))
