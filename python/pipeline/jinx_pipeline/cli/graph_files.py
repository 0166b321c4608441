"""Pictures of a recipe in files: SVG, or Mermaid."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from jinx_pipeline.report.graph_picture import Picture


def refuse_other_pictures(path: str | None) -> None:
    """Refuse the name of a file that is neither SVG nor Mermaid."""
    if path is not None and Path(path).suffix not in {".svg", ".mmd"}:
        raise click.UsageError(f"--graph {path}: the name of a picture ends in .svg or .mmd")


def drawn(picture: "Picture", path: str) -> str:
    """The content of the file of a picture, in the format that its name says."""
    from jinx_pipeline.report.graph_picture import mermaid
    from jinx_pipeline.report.graph_svg import document

    return document(picture) if path.endswith(".svg") else mermaid(picture)
