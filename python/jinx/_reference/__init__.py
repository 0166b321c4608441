"""The second reader of the format: one file in plain Python that needs nothing else from this package."""
