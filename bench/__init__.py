"""JINX beside its peers, measured in the same run. Never part of a test; nothing imports it."""
