"""Loads models in workers and feeds them with the samples of operators."""
