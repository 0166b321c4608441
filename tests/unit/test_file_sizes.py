"""A file that outgrows these limits holds two ideas."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIRECTORIES = ("rust", "python", "bench", "examples", "tools", "tests")
MAX_LINES, MAX_TEST_LINES = 500, 800
# A binary module has one stub, whatever its ideas.
MAX_STUB_LINES = 800
VAGUE_NAMES = {"utils", "helpers", "common", "manager", "misc"}


def sources() -> list[Path]:
    found = [
        path
        for directory in DIRECTORIES
        for kind in ("*.rs", "*.py", "*.pyi")
        for path in (ROOT / directory).rglob(kind)
    ]
    return [path for path in found if "target" not in path.parts]


def test_no_file_is_too_long():
    too_long = {}
    for path in sources():
        is_test = "tests" in path.relative_to(ROOT).parts or path.stem.endswith("tests")
        limit = MAX_TEST_LINES if is_test else MAX_STUB_LINES if path.suffix == ".pyi" else MAX_LINES
        lines = len(path.read_text("utf-8").splitlines())
        if lines > limit:
            too_long[str(path.relative_to(ROOT))] = lines
    assert not too_long


def test_every_file_is_named_for_its_idea():
    assert not [str(path.relative_to(ROOT)) for path in sources() if path.stem in VAGUE_NAMES]
