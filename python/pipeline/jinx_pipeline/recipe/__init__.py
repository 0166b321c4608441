"""Recipes: read from YAML or built in Python, and checked before anything starts."""
