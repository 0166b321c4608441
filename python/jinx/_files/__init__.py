"""Whole datasets as files: verify, repair, move, merge."""
