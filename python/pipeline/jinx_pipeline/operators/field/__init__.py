"""Operators on field values."""
