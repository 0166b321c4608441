"""Whole datasets on disk: split, join, select, deduplicate, compact."""
