"""Typed columns and vectors next to Parquet, Arrow, Lance and faiss."""
