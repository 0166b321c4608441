"""Operators that ask language models behind OpenAI-compatible URLs."""
