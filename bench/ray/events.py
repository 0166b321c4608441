"""What happens in our runs."""

import json
from pathlib import Path
from typing import Any


def events(place: Path) -> list[dict[str, Any]]:
    """What happened in our run so far."""
    path = place / "out.work" / "events.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def block_events(place: Path) -> list[dict[str, Any]]:
    """The blocks that were committed."""
    return [event for event in events(place) if event["kind"] == "block"]
