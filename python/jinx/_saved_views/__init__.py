"""Saved views: files that refer to samples of other files and contain columns of their own."""
