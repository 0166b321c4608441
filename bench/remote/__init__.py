"""Datasets in an object store, next to a raw download and other streaming readers."""
