"""Operators on several kinds of data."""
