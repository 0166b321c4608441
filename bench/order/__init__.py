"""Shuffling and sorting whole datasets on disk, next to other systems and to copying the files."""
