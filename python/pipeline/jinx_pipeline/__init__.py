"""Data pipelines over JINX datasets. Nothing is public yet."""
