"""Operators that write to and read from tables of a database."""
