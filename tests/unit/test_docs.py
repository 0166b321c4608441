"""The documentation is complete, and what is made from other files is up to date."""

import ast
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from bench.chart import chart
from bench.results import Results

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HERE = r"\[[^\]]*\]\((?!https?:)([^)#]+)"
MODULES = ("jinx", "jinx.errors", "jinx.mds", "jinx.torch", "jinx_pipeline.kernels")


def load(path: str):
    """A script outside of the packages."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def feature_table(page: Path) -> list[list[str]]:
    """The cells of the table that compares formats."""
    text = page.read_text("utf-8")
    start = text.index("| | JINX |")
    lines = text[start : text.index("\n\n", start)].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def public_names() -> list[str]:
    """Everything that users import, with the modules' own names."""
    found: list[str] = []
    for name in MODULES:
        # By their source: jinx.torch and jinx.mds need packages that may be missing here.
        root = ROOT / "python" / ("pipeline" if name.startswith("jinx_pipeline") else "")
        path = root / Path(*name.split("."))
        source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        for node in ast.parse(source.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found += [f"{name}.{one}" for one in ast.literal_eval(node.value)]
    return found


def test_the_pages_of_commands_and_options_are_made_from_the_code():
    made = load("tools/reference_pages.py")
    assert made.PAGE.read_text("utf-8") == made.page(), "run: make pages"
    assert made.OPTIONS.read_text("utf-8") == made.options(), "run: make pages"
    assert made.RECIPE.read_text("utf-8") == made.recipe(), "run: make pages"
    assert made.OPERATORS.read_text("utf-8") == made.operators(), "run: make pages"


def test_the_chart_shows_the_published_results():
    results = DOCS / "benchmarks" / "results.json"
    drawn = (DOCS / "benchmarks" / "home.svg").read_text("utf-8")
    assert drawn == chart(Results.load(results)), (
        f"run: .venv/bin/python -m bench.chart {results} {DOCS}/benchmarks/home.svg"
    )


def test_readme_and_home_page_compare_alike():
    readme = [[cell.replace("](docs/", "](") for cell in row] for row in feature_table(ROOT / "README.md")]
    assert readme == feature_table(DOCS / "index.md")


def test_every_claim_about_a_format_has_its_source():
    _, _, *rows = feature_table(ROOT / "README.md")
    assert len(rows) > 5
    for _, *cells in rows:
        assert all(re.fullmatch(r"\[.+\]\(\S+\)", cell) for cell in cells), cells


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_outside_of_the_site_lead_somewhere(page):
    """MkDocs checks the pages in docs/."""
    missing = [link for link in re.findall(HERE, (ROOT / page).read_text("utf-8")) if not (ROOT / link).exists()]
    assert not missing


def test_the_reference_names_everything_public():
    pages = "".join(page.read_text("utf-8") for page in (DOCS / "reference").glob("*.md"))
    listed = set(re.findall(r"^::: (\S+)", pages, re.MULTILINE))
    # The same names, importable from two places.
    listed |= {name.replace("jinx.", "jinx.errors.", 1) for name in listed if name.endswith("Error")}
    by_hand = {"jinx.__version__", *MODULES}
    assert set(public_names()) - by_hand <= listed


def members_of(kind: type) -> dict[str, object]:
    """What a class and its bases in jinx define in Python for users."""
    found: dict[str, object] = {}
    for one in reversed(kind.__mro__):
        if one.__module__.startswith("jinx"):
            found |= {name: member for name, member in vars(one).items() if not name.startswith("_")}
    return {name: member for name, member in found.items() if callable(member) or isinstance(member, property)}


@pytest.mark.parametrize("module", ["jinx", "jinx.mds", "jinx.torch", "jinx_pipeline.kernels"])
def test_every_public_member_has_a_docstring(module):
    found = pytest.importorskip(module, reason="its package is not installed", exc_type=ImportError)
    for name in found.__all__:
        try:
            value = getattr(found, name)
        except ImportError:  # what reads for mosaicml-streaming
            continue
        if callable(value):
            assert inspect.getdoc(value), name
        if inspect.isclass(value) and name != "LazyDict":  # documented in the stub
            assert [one for one, member in members_of(value).items() if not inspect.getdoc(member)] == [], name


def test_every_member_of_a_sample_is_documented_in_the_stub():
    stub = ast.parse((ROOT / "python" / "jinx" / "_core.pyi").read_text("utf-8"))
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    chosen = [one for name, one in classes.items() if name == "LazyDict" or name.endswith("Error")]
    assert len(chosen) > 8
    for one in chosen:
        assert ast.get_docstring(one), one.name
        members = [node for node in one.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
        assert [node.name for node in members if not ast.get_docstring(node)] == []
