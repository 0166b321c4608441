"""Operators that run user code."""
