"""The command line `jinx`."""


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    import sys

    try:
        from jinx._cli.program import run
    except KeyboardInterrupt:  # the same message as from `program`, which is not imported yet
        sys.stderr.write("jinx: interrupted\n")
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))
