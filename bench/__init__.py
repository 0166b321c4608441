"""JINX next to other systems, measured in the same run. Never part of a test; nothing imports it."""
