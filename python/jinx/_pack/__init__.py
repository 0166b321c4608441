"""Packing plans: which samples share a sequence, which packs each rank trains on, and comparisons of methods."""
