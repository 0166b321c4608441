"""Operators with models next to hand-written loops and Data-Juicer."""
