"""MkDocs hook: show the pages of spec/ as part of the documentation, so that they stand in one place only."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

SPEC = Path(__file__).resolve().parents[1] / "spec"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add spec/*.md (and the schemas they link to) as spec/ of the site."""
    for path in sorted(SPEC.iterdir()):
        if path.suffix in {".md", ".json"}:
            name = "index.md" if path.name == "README.md" else path.name
            files.append(File.generated(config, f"spec/{name}", abs_src_path=str(path)))
    return files
