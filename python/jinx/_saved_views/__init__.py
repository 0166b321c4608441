"""Saved views: files that name samples of other files and hold columns of their own."""
