"""Operators that leave out repeated samples."""
