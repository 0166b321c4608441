"""Columns of vectors: search for the nearest ones."""
