"""The fault probe: one row in 3,000 on which an operator fails, and one broken JSON line."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from bench.pipeline.program import measured

ROWS = 3_000
_BAD = 1_234

_OPERATOR = '''
from jinx_pipeline import Mapper, register


@register("fails_once_mapper")
class FailsOnceMapper(Mapper):
    """Fails on one row."""

    @property
    def reads(self):
        return ("id",)

    @property
    def writes(self):
        return ("seen",)

    def process(self, batch, ctx):
        ids = batch.column("id")
        if {bad} in ids:
            raise ValueError("this row is bad")
        return {{"seen": [True] * len(ids)}}
'''


def probe(folder: Path) -> dict[str, Any]:
    """Rows that remain and the exit code, for each fault."""
    import jinx

    found: dict[str, Any] = {"rows": ROWS}
    lines = [json.dumps({"id": at, "text": f"the text number {at}"}) for at in range(ROWS)]
    operators = folder / "fails_once.py"
    operators.write_text(_OPERATOR.format(bad=_BAD))
    for name, step in (("row", "fails_once_mapper"), ("line", "text_length_filter")):
        if name == "line":
            lines[_BAD] = lines[_BAD][:20]
        source, out = folder / f"{name}.jsonl", folder / f"fault-{name}"
        source.write_text("\n".join(lines) + "\n")
        for path in (out, Path(f"{out}.work")):
            shutil.rmtree(path, ignore_errors=True)
        recipe = {
            "dataset": {"path": str(source)},
            "process": [step],
            "export": {"path": str(out)},
            "custom_operators": [str(operators)],
        }
        file = folder / f"fault-{name}.yaml"
        file.write_text(json.dumps(recipe))
        done = measured([sys.executable, "-m", "jinx_pipeline", "run", "--progress", "none", str(file)])
        kept: Any = jinx.open(out).column("id")
        reported = (Path(f"{out}.work") / "quarantine.jsonl").read_text("utf-8").splitlines()
        found[name] = {
            "kept": len(kept),
            "lost_only_the_bad_one": [int(number) for number in kept] == [at for at in range(ROWS) if at != _BAD],
            "exit_code": done.code,
            "reported": len(reported),
        }
    return found
