"""MkDocs hook: show the pages of spec/ as part of the documentation, so that they exist in one place only."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

SPEC = Path(__file__).resolve().parents[1] / "spec"
PAGES = (*SPEC.glob("*.md"), *SPEC.glob("*.json"), SPEC / "vectors" / "README.md")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add spec/*.md (and the schemas and files they link to) as spec/ of the site."""
    for path in sorted(PAGES):
        name = "index.md" if path == SPEC / "README.md" else path.relative_to(SPEC).as_posix()
        files.append(File.generated(config, f"spec/{name}", abs_src_path=str(path)))
    return files
