"""Operators that group samples and make one of each group."""
