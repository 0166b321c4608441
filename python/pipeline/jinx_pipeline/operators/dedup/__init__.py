"""Operators that remove duplicate samples."""
