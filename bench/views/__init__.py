"""Copying as stored, saved views, added columns and filters by expression, next to other systems."""
