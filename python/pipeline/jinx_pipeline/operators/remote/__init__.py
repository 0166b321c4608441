"""Operators that download and upload files."""
