"""Operators that write tables of a database."""
