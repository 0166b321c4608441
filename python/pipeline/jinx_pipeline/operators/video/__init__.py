"""Operators on videos."""
