"""Operators that group samples and make one sample from each group."""
