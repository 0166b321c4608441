"""Texts and media in samples, and the layouts of dialog and multimodal data."""
