"""What the pages of all benchmarks share: their head, and how they are saved."""

import json
from pathlib import Path
from typing import Any


def about_run(about: dict[str, Any]) -> str:
    """Two paragraphs about a run, from what its results say of it."""
    machine = about["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    note = f" {about['note']}" if about.get("note") else ""
    return (
        f"`{about['command']}`, {about['time']}, commit `{about['commit']}`, {about['seconds']:,} s, load average "
        f"{about['load']:.1f}.{note}\n\n{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"Linux {machine['kernel']}, Python {machine['python']}; {versions}."
    )


def save_directory(name: str) -> Path:
    """The directory of `--save`, made before hours of work and not after them."""
    directory = Path(name)
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def publish(name: str, results: dict[str, Any], text: str, directory: Path | None) -> None:
    """Save a page and its results in `directory`, as `name.md` and `name.json`; without one, print the page."""
    if directory is None:
        print(text)
        return
    (directory / f"{name}.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (directory / f"{name}.md").write_text(text, encoding="utf-8")
