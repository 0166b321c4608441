"""Operators that look at all samples to choose which to keep."""
