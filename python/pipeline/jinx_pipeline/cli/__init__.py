"""The command line: `jinx-pipeline`, `python -m jinx_pipeline` and `jinx pipeline` are the same program."""

import gc
import sys


def main() -> None:
    """Run the command line with the arguments of the process."""
    # With the usual threshold, collections while modules are imported take a tenth of the start.
    gc.set_threshold(50_000)
    try:
        from jinx_pipeline.cli.program import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # for the time while modules are imported; `run` handles later ones
        sys.stderr.write("jinx-pipeline: interrupted\n")
        code = 130
    gc.freeze()  # nothing is looked for among what the end of the process frees
    sys.exit(code)
