"""The head of a benchmark's page: the command, the commit, the machine and the versions."""

from typing import Any


def about_run(about: dict[str, Any]) -> str:
    """Two paragraphs about a run, from what its results say of it."""
    machine = about["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    note = f" {about['note']}" if about.get("note") else ""
    return (
        f"`{about['command']}`, {about['time']}, commit `{about['commit']}`, {about['seconds']} s, load average "
        f"{about['load']:.1f}.{note}\n\n{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"Linux {machine['kernel']}, Python {machine['python']}; {versions}."
    )
