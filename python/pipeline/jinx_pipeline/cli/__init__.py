"""The command line: `jinx-pipeline`, `python -m jinx_pipeline` and `jinx pipeline` are the same program."""

import gc
import sys


def main() -> None:
    """Run the command line with the arguments of the process."""
    # With the default threshold, garbage collection during imports takes a tenth of the start-up time.
    gc.set_threshold(50_000)
    try:
        from jinx_pipeline.cli.program import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # during imports; later ones are handled by `run`
        sys.stderr.write("jinx-pipeline: interrupted\n")
        code = 130
    gc.freeze()  # nothing is looked for among what the end of the process frees
    sys.exit(code)
