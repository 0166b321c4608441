"""`python -m jinx` is the command `jinx`."""

from jinx._cli import main

if __name__ == "__main__":
    main()
