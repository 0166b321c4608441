"""What lengths keep of a function: a digest that is the same in every process, and another one for other code."""

import functools
import importlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import jinx
from jinx._annotate.counting_settings import function_setting
from jinx._code_digest import NoStableFormError, code_digest
from jinx._user_code import FileFunction

MODULE = """
import dataclasses, enum, functools, re, typing

import helping

FACTOR = 3
WORDS = {"a", "b", "c", "d"}
PATTERN = re.compile("a+")


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Plain:
    size: int = 1
    more: list = dataclasses.field(default_factory=list)

    def count(self, sample):
        return self.size


class Pair(typing.NamedTuple):
    one: int


class Counts:
    def __init__(self, more):
        self.more = more

    def __call__(self, sample):
        return len(sample) + self.more


def _inner(n):
    return count(n - 1) if n else FACTOR


def count(n):
    return _inner(n)


@functools.cache
def cached(n):
    return n * FACTOR


def closing(n):
    return lambda sample: len(sample) + n


FUNCTIONS = [
    count,
    lambda sample: len(WORDS) + sum(word in {"x", "y", "z"} for word in sample),
    lambda sample: PATTERN.match(sample) or Color.RED,
    lambda sample: Pair(1) and Plain(2),
    lambda sample: cached(1),
    lambda sample: helping.weight(sample),
    closing(1),
    functools.partial(count, 1),
    Counts(1),
    Counts(1).__call__,
    Plain(3).count,
    len,
]
"""
HELPER = "def weight(sample):\n    return 4\n\ndef other(sample):\n    return 4\n"
PRINT = "from jinx._code_digest import code_digest; import mine; print([code_digest(f) for f in mine.FUNCTIONS])"


def digests(folder: Path, module: str = MODULE, helper: str = HELPER, seed: str = "1") -> list[str]:
    """The digests of the functions, in a process of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.py").write_text(module, "utf-8")
    (folder / "helping.py").write_text(helper, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=folder,
        env={"PYTHONPATH": ":".join([str(folder), *sys.path]), "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return eval(done.stdout)


def test_the_same_code_has_the_same_digest_in_every_process_and_place(tmp_path):
    first = digests(tmp_path / "a")
    assert len(set(first)) == len(first)
    assert digests(tmp_path / "b" / "elsewhere", "# A comment.\n\n" + MODULE, "\n\n" + HELPER, seed="2") == first


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("FACTOR = 3", "FACTOR = 4", {0, 4, 7}),
        ('"a", "b", "c", "d"', '"a", "b", "c"', {1}),
        ('"x", "y", "z"', '"x", "y"', {1}),
        ('re.compile("a+")', 're.compile("b+")', {2}),
        ("RED = 1", "RED = 2", {2}),
        ("size: int = 1", "size: int = 2", {3, 10}),
        ("return n * FACTOR", "return n + FACTOR", {4}),
        ("count(n - 1) if n", "count(n - 2) if n", {0, 7}),
        ("closing(1)", "closing(2)", {6}),
        ("partial(count, 1)", "partial(count, 2)", {7}),
        ("Counts(1)", "Counts(2)", {8, 9}),
        ("len(sample) + self.more", "len(sample) - self.more", {8, 9}),
        ("Plain(3).count", "Plain(4).count", {10}),
    ],
)
def test_other_values_and_other_code_have_other_digests(tmp_path, old, new, changed):
    assert old in MODULE
    before, after = digests(tmp_path), digests(tmp_path, MODULE.replace(old, new))
    assert {i for i, (one, other) in enumerate(zip(before, after, strict=True)) if one != other} == changed


def test_of_another_module_counts_what_is_used(tmp_path):
    before = digests(tmp_path)
    used, unused = (
        HELPER.replace(f"{name}(sample):\n    return 4", f"{name}(sample):\n    return 5")
        for name in ("weight", "other")
    )
    assert digests(tmp_path, helper=unused) == before
    assert [i for i, one in enumerate(digests(tmp_path, helper=used)) if one != before[i]] == [5]


def test_what_has_no_form_of_its_own_is_named(tmp_path):
    lock = threading.Lock()

    def waits(sample):
        with lock:
            return len(sample)

    with pytest.raises(NoStableFormError, match=r"lock, of type _thread\.lock"):
        code_digest(waits)
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(NoStableFormError, match="nested too deeply"):
        code_digest(lambda sample: deep)
    with jinx.Writer(tmp_path / "data.jinx") as writer:
        writer.write({"text": "x"})
    with pytest.raises(TypeError, match=r"waits: .* the function uses lock, of type _thread\.lock, which has no form"):
        jinx.annotate(tmp_path / "data.jinx", tmp_path / "out.jinx", function=waits)


def test_values_that_contain_themselves():
    first: list = [1]
    first.append(first)
    second: list = [1, [1]]
    second[1].append(second)
    assert code_digest(lambda: first) == code_digest(lambda: first)
    assert function_setting(functools.partial(len, first)) != function_setting(functools.partial(len, second))


def test_functions_of_files(tmp_path):
    for folder, body in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file.py").write_text(f"def count(sample):\n    return {body}\n", "utf-8")
    one, same, other = (function_setting(FileFunction(str(tmp_path / name / "file.py"), "count")) for name in "abc")
    assert one == same
    assert one != other
    assert (one["name"], other["name"]) == ("count", "count")


IMPORTS = {
    "module": "import imported_later",
    "name": "from imported_later import name",
    "submodule": "from imported_later import part",
    "dotted": "import imported_later.part as inner",
    "inner": "def inner():\n        from imported_later.part import name\n        return name()",
}


@pytest.mark.parametrize("kind", IMPORTS)
def test_modules_that_a_function_imports_when_it_runs(tmp_path, monkeypatch, kind):
    """A module is neither imported for it nor looked up among those that are, which differ in each process."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "imported_later").mkdir()
    files = [tmp_path / "imported_later" / name for name in ("__init__.py", "part.py")]
    for file in files:
        file.write_text("name = len")
    space: dict = {}
    body = f"    {IMPORTS[kind]}\n    import collections.abc, no_such_module\n"
    exec(f"def count(sample):\n{body}", space)
    before = code_digest(space["count"])
    assert "imported_later" not in sys.modules
    files[kind in {"submodule", "dotted", "inner"}].write_text("name = sum")
    importlib.invalidate_caches()
    assert code_digest(space["count"]) != before


def by_length(n):
    return lambda sample: len(sample["text"]) * n


def test_lengths_of_two_functions_of_one_name_are_not_packed_together(tmp_path):
    with jinx.Writer(tmp_path / "data.jinx") as writer:
        writer.write_many({"text": "x" * n} for n in range(1, 9))
    for name, function in (("one", by_length(1)), ("again", by_length(1)), ("two", by_length(2))):
        jinx.annotate(tmp_path / "data.jinx", tmp_path / f"{name}.jinx", function=function)
    one, again, two = (jinx.open(tmp_path / f"{name}.jinx") for name in ("one", "again", "two"))
    assert len(jinx.pack(one + again, 16))
    name = r"by_length\.<locals>\.<lambda> \([0-9a-f]{12}\)"
    with pytest.raises(jinx.MismatchError, match=f"counted in different ways: function {name} and {name}; run"):
        jinx.pack([one, two], 16)
