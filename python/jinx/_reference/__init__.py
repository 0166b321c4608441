"""The second reader of the format: one file of plain Python that needs nothing else from this package."""
