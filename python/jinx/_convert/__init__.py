"""Conversion: options, inputs of every kind, and one run."""
