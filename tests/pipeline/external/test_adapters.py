"""Adapters run in an environment of their own, and cost only the rows that break them."""

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import jinx_pipeline as jp
from jinx_pipeline.external.errors import AdapterError, ExternalError

ADAPTER = """
import os, sys, time
from pathlib import Path


def load(options, device):
    print("loaded on", device)
    Path(options["log"]).open("a").write(f"{os.getpid()}\\n")
    if options.get("fails"):
        raise RuntimeError("no weights")

    def call(columns):
        print("called")
        for text in columns["text"]:
            if text == "raise":
                raise ValueError("a bad text")
            if text == "hang":
                time.sleep(1000)
            if text == "die":
                os._exit(7)
        lengths = [len(text) + options["more"] for text in columns["text"]]
        return {"length": lengths, "python": [sys.prefix] * len(lengths), "parts": [[1.5]] * len(lengths)}

    return call
"""
OUTPUT = {"length": "int64", "python": "string", "parts": "list<float32>"}


@pytest.fixture(scope="module")
def env(tmp_path_factory):
    """A virtual environment that borrows the packages of this one."""
    directory = tmp_path_factory.mktemp("env")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    borrow_packages(directory)
    return directory


def borrow_packages(directory):
    site = next(directory.glob("lib/python*/site-packages"))
    (site / "borrowed.pth").write_text(f"{Path(pa.__file__).parents[1]}\n")


@pytest.fixture
def adapter(tmp_path):
    file = tmp_path / "lengths.py"
    file.write_text(ADAPTER)
    return file


def made(file, env, tmp_path, **options):
    return jp.create(
        "external_operator",
        file=str(file),
        env=str(env),
        columns=["text"],
        output=OUTPUT,
        options={"more": 1, "log": str(tmp_path / "log"), **options},
    )


def test_another_interpreter_answers(adapter, env, tmp_path, capfd):
    operator = made(adapter, env, tmp_path)
    found = operator([{"text": "four", "x": 1}, {"text": ""}])
    assert found == [
        {"text": "four", "x": 1, "length": 5, "python": str(env), "parts": [1.5]},
        {"text": "", "length": 1, "python": str(env), "parts": [1.5]},
    ]
    assert operator([{"text": "a"}])[0]["length"] == 2
    processes = (tmp_path / "log").read_text().split()
    assert len(processes) == 1  # it is loaded once
    assert int(processes[0]) != os.getpid()
    assert "loaded on cpu" in capfd.readouterr().err  # what it prints is no answer


def test_packages_of_any_name_can_be_imported(env, tmp_path):
    file, packages = tmp_path / "named.py", next(env.glob("lib/python*/site-packages"))
    names = ("adapter", "environment", "errors", "process")
    for name in names:
        (packages / f"{name}.py").write_text("IS_OTHER = True\n")
    file.write_text(
        f"import {', '.join(names)}\n"
        f"found = all(one.IS_OTHER for one in ({', '.join(names)}))\n"
        "def load(options, device):\n"
        "    return lambda columns: {'found': [found] * len(columns['text'])}\n"
    )
    operator = jp.create("external_operator", file=str(file), env=str(env), columns=["text"], output={"found": "bool"})
    assert operator([{"text": "a"}]) == [{"text": "a", "found": True}]
    for name in names:
        (packages / f"{name}.py").unlink()


def test_rows_that_break_it_are_the_only_ones_lost(adapter, env, tmp_path):
    texts = ["a", "raise", "bb", "die", "ccc"]
    result, rows = run_over(texts * 3, adapter, env, tmp_path)
    assert [(row["text"], row["length"]) for row in rows] == [("a", 2), ("bb", 3), ("ccc", 4)] * 3
    assert len(result.bad_rows) == 6


@pytest.mark.timeout(240)
def test_a_row_that_hangs_is_left_out(adapter, env, tmp_path):
    result, rows = run_over(["a", "hang", "bb"], adapter, env, tmp_path, row_seconds=3)
    assert [row["text"] for row in rows] == ["a", "bb"]
    assert "exceeded its time limit" in result.bad_rows[0].error
    until = time.monotonic() + 30
    processes = [int(line) for line in (tmp_path / "log").read_text().split()]
    while any(map(is_running, processes)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(is_running, processes))


def run_over(texts, adapter, env, tmp_path, **options):
    """The result of a run with the adapter, and the rows of its output."""
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    step = {
        "file": str(adapter),
        "env": str(env),
        "columns": ["text"],
        "output": OUTPUT,
        "options": {"more": 1, "log": str(tmp_path / "log")},
    }
    recipe = {
        "dataset": {"path": str(tmp_path / "in.jsonl")},
        "process": [{"external_operator_mapper": step}],
        "export": {"path": str(tmp_path / "out.jsonl")},
        "workers": 1,
        **options,
    }
    (tmp_path / "recipe.yaml").write_text(json.dumps(recipe))
    result = jp.Run(jp.read_recipe(tmp_path / "recipe.yaml"))()
    return result, [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]


def test_errors_say_what_happened(adapter, env, tmp_path):
    operator = made(adapter, env, tmp_path)
    with pytest.raises(AdapterError, match="ValueError: a bad text"):
        operator([{"text": "raise"}])
    with pytest.raises(AdapterError, match="ended with 7"):
        operator([{"text": "die"}])
    assert operator([{"text": "a"}])[0]["length"] == 2
    with pytest.raises(ExternalError, match=r"cannot be loaded in .*RuntimeError: no weights"):
        made(adapter, env, tmp_path, fails=True)([{"text": "a"}])
    other = jp.create(
        "external_operator",
        file=str(adapter),
        env=str(env),
        columns=["text"],
        output={"none": "bool"},
        options={"more": 1, "log": str(tmp_path / "log")},
    )
    with pytest.raises(AdapterError, match="none"):
        other([{"text": "a"}])


def test_the_process_ends_with_its_worker(adapter, env, tmp_path):
    code = f"""
import jinx_pipeline as jp
operator = jp.create("external_operator", file={str(adapter)!r}, env={str(env)!r}, columns=["text"],
                     output={OUTPUT!r}, options={{"more": 1, "log": {str(tmp_path / "log")!r}}})
print(operator([{{"text": "a"}}]), flush=True)
import os; os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    child = int((tmp_path / "log").read_text())
    until = time.monotonic() + 30
    while is_running(child) and time.monotonic() < until:
        time.sleep(0.1)
    assert not is_running(child)


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_uv_installs_once_if_it_is_allowed(adapter, tmp_path, monkeypatch):
    """With a stand-in for uv, since tests install nothing."""
    tools = tmp_path / "tools"
    tools.mkdir()
    site = Path(next(path for path in sys.path if (Path(path) / "pyarrow").is_dir()))
    uv = tools / "uv"
    uv.write_text(
        f"#!{sys.executable}\nimport subprocess, sys, pathlib\n"
        f"pathlib.Path({str(tmp_path / 'uv.log')!r}).open('a').write(' '.join(sys.argv[1:]) + '\\n')\n"
        "if sys.argv[1] == 'venv':\n"
        f"    subprocess.run([{sys.executable!r}, '-m', 'venv', '--without-pip', sys.argv[-1]], check=True)\n"
        "    site = next(pathlib.Path(sys.argv[-1]).glob('lib/python*/site-packages'))\n"
        f"    (site / 'borrowed.pth').write_text({str(site)!r})\n"
    )
    uv.chmod(uv.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    parameters = {
        "file": str(adapter),
        "requirements": ["tomli==2.0.1"],
        "columns": ["text"],
        "output": OUTPUT,
        "options": {"more": 1, "log": str(tmp_path / "log")},
    }
    monkeypatch.delenv("JINX_ALLOW_INSTALL", raising=False)
    with pytest.raises(jp.ParameterError, match="JINX_ALLOW_INSTALL=uv"):
        jp.create("external_operator", **parameters)
    monkeypatch.setenv("JINX_ALLOW_INSTALL", "uv")
    for _ in range(2):
        (found,) = jp.create("external_operator", **parameters)([{"text": "a"}])
        assert found["python"].startswith(str(tmp_path / "cache"))
    commands = (tmp_path / "uv.log").read_text().splitlines()
    assert len(commands) == 2
    assert commands[1].endswith("pyarrow tomli==2.0.1")


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({}, "give the file of an adapter, or a model"),
        ({"file": "f.py"}, "either env or requirements"),
        ({"file": "f.py", "env": "/nowhere"}, "f.py is not a file"),
        ({"file": __file__, "env": "/nowhere"}, "neither a virtual environment nor a Python"),
        ({"file": __file__, "env": sys.executable, "output": {"x": "int"}}, "unknown type 'int'"),
        ({"file": __file__, "env": sys.executable, "output": {"text": "string"}}, "text is in columns too"),
        ({"model": "app", "env": "x"}, "are for the file of an adapter"),
    ],
)
def test_senseless_parameters(parameters, what):
    with pytest.raises(jp.ParameterError, match=what):
        jp.create("external_operator", **{"columns": ["text"], "output": {"x": "string"}, **parameters})


def test_a_service_answers_each_sample(tmp_path):
    from pipeline.llm.model_server import Said, serving

    def script(body, times):
        return Said(body=json.dumps({"length": len(body["text"]), "size": len(body["images"][0])}).encode())

    (tmp_path / "image.bin").write_bytes(b"12345")
    samples = [{"text": "four", "images": [str(tmp_path / "image.bin")]}]
    with serving(script) as server:
        model = jp.Model(kind="serve", url=server.url)
        operator = {"model": model, "columns": ["text", "images"], "output": {"length": "int64", "size": "int64"}}
        (found,) = jp.create("external_operator", **operator)(samples)
        assert (found["length"], found["size"]) == (4, 8)  # base64 of five bytes
        wrong = jp.create("external_operator", **{**operator, "output": {"length": "int64", "colour": "string"}})
        with pytest.raises(AdapterError, match="not a dict of length, colour"):
            wrong(samples)
    with pytest.raises(ValueError, match="has a path, the name of an application, or a url"):
        jp.Model(kind="serve")


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_example_gives_what_the_model_gives(env, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from io import BytesIO

    from PIL import Image

    from pipeline.operators.images import encoded, photo
    from pipeline.operators.tiny_models import save_vit

    path, images = save_vit(tmp_path / "vit", ["cat", "dog"]), [encoded(photo(40, 30, seed)) for seed in range(3)]
    operator = jp.create(
        "external_operator",
        file=str(Path(__file__).parents[3] / "examples" / "external" / "classify.py"),
        env=str(env),
        columns=["images"],
        output={"label": "string", "scores": "list<float32>"},
        options={"model": path},
    )
    found = operator([{"images": [image]} for image in images])
    model = transformers.ViTForImageClassification.from_pretrained(path).eval()
    processor = transformers.AutoImageProcessor.from_pretrained(path)
    with torch.no_grad():
        pixels = processor(images=[Image.open(BytesIO(image)) for image in images], return_tensors="pt")
        scores = model(**pixels).logits.softmax(dim=1)
    for sample, expected in zip(found, scores.tolist(), strict=True):
        assert sample["scores"] == pytest.approx(expected, abs=1e-6)
        assert sample["label"] == ["cat", "dog"][expected.index(max(expected))]


@pytest.mark.parametrize(
    ("expression", "kind", "problem"),
    [
        ("[6.5] * n", "int64", "the column c has 6.5, which is not int64"),
        ("[1, 2.5] * n", "int64", "the column c has 2.5, which is not int64"),
        ("[[1.0, 2.5]] * n", "list<int64>", "the column c has 2.5, which is not int64"),
        ("[1e300] * n", "float32", "the column c has 1e.300, which is not float"),
        ("'x' * n", "string", "the column c is str, not a list with a value for each sample"),
        ("set(range(n))", "int64", "the column c is set, not a list"),
    ],
)
def test_values_that_a_type_would_change_are_errors(tmp_path, env, expression, kind, problem):
    with pytest.raises(AdapterError, match=problem):
        answered(tmp_path, env, expression, kind)


@pytest.mark.parametrize(
    ("expression", "kind", "values"),
    [
        ("[6.0, None]", "int64", [6, None]),
        ("[[1.0], None]", "list<int64>", [[1], None]),
        ("[float('inf'), 0.5]", "float32", [float("inf"), 0.5]),
        ("(i for i in range(n))", "int64", [0, 1]),
    ],
)
def test_values_that_fit_a_type_are_kept(tmp_path, env, expression, kind, values):
    assert answered(tmp_path, env, expression, kind) == values


def answered(tmp_path, env, expression, kind):
    """What an adapter's answer becomes, for two samples."""
    file = tmp_path / "answers.py"
    file.write_text(
        f"def load(options, device):\n    def call(columns):\n        n = len(columns['text'])\n"
        f"        return {{'c': {expression}}}\n    return call\n"
    )
    operator = jp.create("external_operator", file=str(file), env=str(env), columns=["text"], output={"c": kind})
    return [row["c"] for row in operator([{"text": "a"}, {"text": "b"}])]
