"""Operators that run a user's code."""
