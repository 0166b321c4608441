"""The pipeline in a minute: measure the dataset that `demo.py` made, filter and deduplicate it, open the result.

Run it with `make demo`.
"""

import argparse
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jinx

RECIPE = """\
dataset: {path: out.jinx, text: "messages[*].content", images: image}
process:
  - text_length_filter: {min_len: 100, max_len: 400}
  - image_aspect_ratio_filter: {max_ratio: 2.0}
  - document_deduplicator: {lowercase: true}
export: {path: clean.jinx, kind: view, overwrite: true}
"""


def main() -> None:
    """Run the pipeline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("demo-data"), help="directory of out.jinx")
    directory: Path = parser.parse_args().directory
    (directory / "recipe.yaml").write_text(RECIPE, "utf-8")
    for name in ("stats.jinx.work", "clean.jinx.work"):  # from an earlier run
        shutil.rmtree(directory / name, ignore_errors=True)
    print(f"\n--- A pipeline over {directory}/out.jinx\n{RECIPE}")
    pipeline(directory, "plan", "recipe.yaml")
    pipeline(directory, "analyze", "recipe.yaml", "--out", "stats.jinx", "--report", "report.html")
    pipeline(directory, "run", "recipe.yaml", "--from-stats", "stats.jinx")
    clean = jinx.open(directory / "clean.jinx")
    print(f"\n>>> jinx.open('clean.jinx')        # a view: no image was copied\n{clean!r}")
    print(f"\nThe report is {directory}/report.html")


def pipeline(directory: Path, *words: str) -> None:
    """Print and run `jinx-pipeline WORDS`."""
    print(f"$ jinx-pipeline {shlex.join(words)}", flush=True)
    subprocess.run([sys.executable, "-m", "jinx_pipeline", *words], check=True, cwd=directory)


if __name__ == "__main__":
    main()
