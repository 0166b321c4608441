"""Operators that add columns of other datasets."""
