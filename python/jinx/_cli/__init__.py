"""The command `jinx`."""


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    import sys

    try:
        from jinx._cli.program import run
    except KeyboardInterrupt:  # as the program itself says it, once it is there
        sys.stderr.write("jinx: interrupted\n")
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))
