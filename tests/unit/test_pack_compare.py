"""`jinx pack`: the five ways to batch, their numbers and their picture."""

import json
import re

import numpy as np
import pytest

import jinx
from jinx._cli.program import run
from jinx.errors import InvalidError

NAMES = ["naive_padding", "constrained_padding", "greedy", "bin_packing", "knapsack"]


def sizes(count: int = 3000) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    images = random.integers(0, 4, count)
    return {"num_tokens": random.integers(20, 900, count) + images * 64, "num_images": images}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    columns = sizes()
    out = tmp_path_factory.mktemp("pack") / "a.jinx"
    with jinx.Writer(out) as writer:
        writer.write_many({name: int(column[i]) for name, column in columns.items()} for i in range(3000))
    return out


def test_each_stage_wastes_less():
    found = jinx.compare_packing(sizes(), 1000, max_images=6)
    assert [stage.name for stage in found.stages] == NAMES
    naive, constrained, greedy, binned, knapsack = found.stages
    assert greedy.efficiency < binned.efficiency
    assert min(naive.efficiency, constrained.efficiency) < greedy.efficiency
    assert naive.dropped == 0 < constrained.dropped == greedy.dropped == binned.dropped
    assert knapsack.images is not None
    assert knapsack.images[2] <= 6
    assert found.imbalance["after"] < found.imbalance["before"]
    assert found.cost == "num_images"


def test_the_numbers_are_those_of_the_samples():
    lengths = np.array([10, 30, 20, 90, 50])
    found = jinx.compare_packing(lengths, 60, batch_size=2, seed=1, show=5)
    tokens = {stage.name: (stage.tokens, stage.samples, stage.dropped) for stage in found.stages}
    assert tokens == {"naive_padding": (200, 5, 0), **dict.fromkeys(NAMES[1:], (110, 4, 1))}
    cells = {stage.name: stage.cells for stage in found.stages}
    assert cells["constrained_padding"] == 4 * 60
    assert cells["knapsack"] == cells["bin_packing"] == 2 * 60
    order = np.random.Generator(np.random.PCG64(1)).permutation(5)
    batches = [lengths[order[at : at + 2]] for at in (0, 2, 4)]
    assert cells["naive_padding"] == sum(batch.max() * len(batch) for batch in batches)
    shown = found.shown["naive_padding"]
    assert [row.samples for row in shown] == [[0], [1], [2], [3], [4]]
    assert [row.width for row in shown] == [30, 30, 90, 90, 50]
    assert sorted(sample for row in found.shown["knapsack"] for sample in row.samples) == [0, 1, 2, 4]
    assert found.cost == "num_tokens^2"


def test_the_json_holds_what_the_picture_shows(tmp_path):
    found = jinx.compare_packing(sizes(), 1000, max_images=6, show=20, tokens_per_image=64)
    found.save_json(tmp_path / "a.json")
    told = json.loads((tmp_path / "a.json").read_text())
    assert told == json.loads(json.dumps(found.to_dict()))
    columns = sizes()
    for name in NAMES:
        rows = told["shown"][name]
        for row in rows:
            assert row["tokens"] == columns["num_tokens"][row["samples"]].tolist()
            assert row["images"] == columns["num_images"][row["samples"]].tolist()
            assert row["image_tokens"] == [64 * images for images in row["images"]]
            assert sum(row["tokens"]) <= row["width"]
    assert all(len(step) == 8 for step in told["costs"]["after"])
    assert len(told["costs"]["before"]) == len(told["costs"]["after"]) <= 64


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_picture_is_drawn(tmp_path, kind):
    pytest.importorskip("matplotlib")
    found = jinx.compare_packing(sizes(), 1000, max_images=6, tokens_per_image=64)
    found.plot(tmp_path / f"a.{kind}")
    data = (tmp_path / f"a.{kind}").read_bytes()
    assert data.startswith(b"\x89PNG" if kind == "png" else b"<?xml")
    assert [path.name for path in tmp_path.iterdir()] == [f"a.{kind}"]
    with pytest.raises(ValueError, match="Format 'xyz'"):
        found.plot(tmp_path / "a.xyz")
    assert [path.name for path in tmp_path.iterdir()] == [f"a.{kind}"]


def test_a_few_samples_and_none_are_compared(tmp_path):
    pytest.importorskip("matplotlib")
    jinx.compare_packing([3], 10).plot(tmp_path / "one.png")
    jinx.compare_packing([30], 10).plot(tmp_path / "too_long.png")
    with pytest.raises(InvalidError, match="no samples"):
        jinx.compare_packing([], 10)
    with pytest.raises(InvalidError, match="1 or more"):
        jinx.compare_packing([3], 10, batch_size=0)


def test_the_command_plans(path, tmp_path, capsys):
    plan = tmp_path / "plan.jinx"
    assert run(["pack", str(path), "--max-length", "1000", "--max-images", "6", "--save", str(plan)]) == 0
    told = capsys.readouterr().out
    opened = jinx.PackPlan.load(plan)
    assert f"{len(opened):,}" in told
    assert opened.budgets == {"num_tokens": 1000, "num_images": 6}
    assert run(["pack", str(path), "--max-length", "1000", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["packs"] > 0
    assert run(["pack", str(path), "--json", str(tmp_path / "a.json")]) == 0
    assert json.loads((tmp_path / "a.json").read_text())["samples"] == 3000
    assert run(["pack", str(path), "--save", str(plan)]) == 2
    assert "exists" in capsys.readouterr().err
    pytest.importorskip("matplotlib")
    assert run(["pack", str(path), "--plot", str(tmp_path / "packs.png"), "--tokens-per-image", "64"]) == 0
    assert (tmp_path / "packs.png").stat().st_size > 10_000


@pytest.mark.parametrize("option", ["--json", "--plot", "--save"])
def test_the_command_replaces_no_other_file(path, tmp_path, capsys, option):
    jinx.open(path)[::2].save(tmp_path / "view.jinx")
    (tmp_path / "mine.txt").write_text("mine")
    jinx.convert([{"a": 1}], tmp_path / "shards")
    names = [str(path), "mine.txt", "view.jinx", "shards/jinx.json"]
    before = {name: (tmp_path / name).read_bytes() for name in names}
    for name in names:
        words = ["pack", str(tmp_path / "view.jinx"), "--max-length", "1000", option, str(tmp_path / name)]
        assert run(words) == 2, name
        # Its input, and the base of it, are never replaced.
        if name != "mine.txt" and not (option == "--save" and name == "shards/jinx.json"):
            assert run([*words, "--overwrite"]) == 2, name
    assert {name: (tmp_path / name).read_bytes() for name in names} == before


def test_the_command_compares(path, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    picture, numbers = tmp_path / "packs.png", tmp_path / "packs.json"
    assert run(["pack", str(path), "--compare", "--plot", str(picture), "--json", str(numbers)]) == 0
    told = capsys.readouterr().out
    assert all(name.replace("_", " ") in told for name in NAMES)
    assert picture.stat().st_size > 10_000
    assert [stage["name"] for stage in json.loads(numbers.read_text())["stages"]] == NAMES
    for words in (["--compare", "--save", "a.jinx"], ["--compare", "--strategy", "next_fit"]):
        assert run(["pack", str(path), *words]) == 2
    assert run(["pack", str(path), "--max-patches", "3"]) == 2
    assert "jinx annotate" in capsys.readouterr().err


def page_rows(found: jinx.PackComparison) -> list[str]:
    """The table of the page on the five stages."""
    rows = []
    for stage in found.stages:
        least, mean, most = stage.images or (0, 0.0, 0)
        name = stage.name.replace("_", " ")
        cells = (
            name,
            f"{stage.efficiency:.2%}",
            f"{stage.rows:,}",
            f"{stage.dropped:,}",
            f"{least}, {mean:.1f}, {most}",
        )
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def test_the_page_shows_the_numbers_of_its_data(repository, tmp_path, monkeypatch):
    text = (repository / "docs" / "how-to" / "packing-stages.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    exec(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0])
    with jinx.open("sizes.jinx") as ds:
        found = jinx.compare_packing(ds, 4096, max_images=8)
    assert [line for line in text.splitlines() if line.startswith("| ")][1:] == page_rows(found)
    assert f"{found.imbalance['before']:.2f} to {found.imbalance['after']:.2f}" in text
