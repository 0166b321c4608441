"""Counts the tokens, images and patches of samples, and encodes samples for training."""
