"""Operators that change the order of the samples."""
