"""Runs the command line as `python -m jinx_pipeline`."""

from jinx_pipeline.cli import main

main()
