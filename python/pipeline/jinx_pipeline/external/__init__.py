"""Operators in a Python environment of their own, which a child process runs."""
