"""Operators whose results people give."""
