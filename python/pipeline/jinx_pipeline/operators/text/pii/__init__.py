"""Finds personal data and secrets in texts."""
