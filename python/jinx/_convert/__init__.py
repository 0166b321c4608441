"""Conversion between formats: options, inputs, and the calls of the core that convert."""
