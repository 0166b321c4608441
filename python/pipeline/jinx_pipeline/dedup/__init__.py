"""Finds duplicates among all samples by signatures: exact ones by hashes, near ones by bands."""
