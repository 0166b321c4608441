"""Lengths next to the data: what a sample weighs in training, from its text and its images' headers."""
