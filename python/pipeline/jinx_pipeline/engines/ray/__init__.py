"""Worker actors on a Ray cluster."""
