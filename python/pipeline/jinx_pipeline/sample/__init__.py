"""Where texts and media are in a sample, and the layouts of dialog and multimodal data."""

from jinx_pipeline.sample.roles import Roles

__all__ = ["Roles"]
