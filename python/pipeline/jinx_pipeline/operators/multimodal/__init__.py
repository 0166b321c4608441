"""Operators on several kinds of data at once."""
