"""Without a `__main__` guard: what a notebook or a prompt defines reaches the workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jinx_pipeline as jp

# As cells of a notebook: each statement is run when it is complete, in a __main__ that is no file.
CELLS = """
import jinx_pipeline as jp
least = 3
def longer(sample):
    words = sample["text"].split()
    return {**sample, "words": len(words)} if len(words) >= least else None

class Loud(jp.Mapper):
    reads = writes = ("text",)
    def process(self, batch, ctx):
        return {"text": [text.upper() for text in batch.column("text")]}

texts = [{"text": "one two three"}, {"text": "one"}, {"text": "a b c d"}]
result = jp.Dataset.load(texts).process([longer, Loud()]).run(workers=2)
print([dict(sample) for sample in result])
"""
EXPECTED = "[{'text': 'ONE TWO THREE', 'words': 3}, {'text': 'A B C D', 'words': 4}]"


@pytest.mark.parametrize("way", ["prompt", "script", "command"])
def test_functions_and_classes_of_main_reach_the_workers(tmp_path, way):
    script = tmp_path / "script.py"
    script.write_text(CELLS)
    command = {"prompt": ["-i", "-q"], "script": [str(script)], "command": ["-c", CELLS]}[way]
    environment = {**os.environ, "PYTHONPATH": str(Path(jp.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, *command],
        input=CELLS if way == "prompt" else "",
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert EXPECTED in done.stdout, done.stderr
