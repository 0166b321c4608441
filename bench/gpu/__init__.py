"""Feeding a GPU: what the loaders deliver into its memory, and how long it waits for them."""
