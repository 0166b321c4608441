"""Operators that choose samples from all samples."""
