"""Operators on the values of fields."""
