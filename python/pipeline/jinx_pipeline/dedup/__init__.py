"""Duplicates among all samples, found from signatures: exact ones by hashes, near ones by bands."""
