"""Operators that compare samples by a column of vectors, such as embeddings."""
