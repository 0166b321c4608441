"""Formats by name."""
