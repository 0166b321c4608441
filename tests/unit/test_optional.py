"""Optional packages: what is said when one is missing."""

import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest

import jinx
import samples
from jinx._optional import require

ROOT = Path(__file__).resolve().parents[2]


def test_the_message_is_the_command_to_run(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "PIL.Image", raising=False)
    with pytest.raises(ImportError, match=r"decoding images needs PIL.*pip install 'jinx-data\[image\]'"):
        require("PIL.Image", extra="image", what="decoding images")


def test_a_package_that_is_there_but_broken_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import something_it_needs", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ImportError, match="something_it_needs") as caught:
        require("half_installed", extra="image", what="this")
    assert "pip install" not in str(caught.value)


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("pyarrow", "arrow", lambda ds: ds.to_arrow()),
        ("pyarrow", "arrow", lambda ds: list(ds.iter_batches(2, format="arrow"))),
        ("pandas", "pandas", lambda ds: ds.to_pandas()),
        ("datasets", "hf", lambda ds: ds.to_hf(streaming=True)),
        ("PIL", "image", lambda ds: ds.decode({"image": "pil"})[0]["image"]),
        ("soundfile", "audio", lambda ds: ds.decode({"image": "audio"})[0]["image"]),
    ],
)
def test_every_use_names_its_extra(tmp_path, monkeypatch, module, extra, use):
    ds = jinx.open(samples.write(tmp_path / "a.jinx", 3))
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"{module}.Image", raising=False)
    with pytest.raises(ImportError, match=rf"pip install 'jinx-data\[{extra}\]'"):
        use(ds)


def test_torch_is_named_too(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "torch" or name.startswith("jinx.torch")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"jinx\.torch needs torch, .*pip install 'jinx-data\[torch\]'"):
        importlib.import_module("jinx.torch")


@pytest.mark.parametrize(
    ("settings", "package"), [("pyproject.toml", "jinx"), ("python/pipeline/pyproject.toml", "pipeline")]
)
def test_extras_and_their_uses_are_the_same(settings: str, package: str):
    """An extra that nothing needs is a promise without code; a message may not name one that does not exist.

    `all` stands for the others, and nothing asks for `traces`: spans are recorded if its packages are there.
    """
    declared = set(tomllib.loads((ROOT / settings).read_text("utf-8"))["project"]["optional-dependencies"])
    used: set[str] = set()
    for path in (ROOT / "python" / package).rglob("*.py"):
        for call in re.findall(r"\brequire\((.*?)\)", path.read_text("utf-8"), re.DOTALL):
            extra = re.search(r'extra="([\w-]+)"', call)
            if extra:
                used.add(extra[1])
    assert declared - {"all", "traces"} == used
