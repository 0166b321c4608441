"""Atomic files, append-only logs and locks."""
