"""The vectors of the specification: those that are read, and those that are refused."""

import json
import os
from pathlib import Path

VECTORS = Path(__file__).resolve().parents[2] / "spec" / "vectors"
ENTRIES = json.loads((VECTORS / "vectors.json").read_text(encoding="utf-8"))["vectors"]
GOOD = [entry for entry in ENTRIES if "error" not in entry["expect"]]
BAD = [entry for entry in ENTRIES if "error" in entry["expect"]]

for _entry in ENTRIES:
    for _name, _time in _entry.get("mtime_ns", {}).items():
        os.utime(VECTORS / _name, ns=(_time, _time))
