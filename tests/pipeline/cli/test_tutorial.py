"""The tutorial and the package's README work as they stand there."""

import re
import shutil

import pytest

import jinx
import pages


def codes(page: str) -> list[str]:
    """Everything to run, in order: recipes are saved under their name, commands run as `jinx pipeline`."""
    text = (pages.ROOT / page).read_text("utf-8")
    found: list[str] = []
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if kind == "python":
            found.append(block)
        elif kind in {"text", "yaml"} and "dataset:" in block:  # others are parts of recipes
            found.append(f"import pathlib\npathlib.Path('recipe.yaml').write_text({block!r})")
        elif kind == "console":
            lines = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
            found += [line.replace("jinx-pipeline ", "jinx pipeline ") for line in lines if not line.startswith("pip ")]
    return found


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", ["docs/how-to/pipeline.md", "python/pipeline/README.md"])
def test_the_page_runs(page, chat_parquet, tmp_path):
    shutil.copy(chat_parquet, tmp_path / "in.parquet")
    for name in ("in", "out"):  # `pages.run` opens the latter
        jinx.convert(chat_parquet, tmp_path / f"{name}.jinx")
    found = codes(page)
    assert len(found) > 4
    pages.run(tmp_path, found)
