"""The recipes that come with the package, each run on data made here."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import jinx
from jinx_pipeline.cli.program import pipeline
from jinx_pipeline.recipe.shipped import shipped

ENGLISH = [
    "river",
    "winter",
    "engine",
    "garden",
    "letter",
    "market",
    "window",
    "forest",
    "harbour",
    "teacher",
    "castle",
    "doctor",
    "bridge",
    "summer",
    "village",
    "church",
    "painter",
    "soldier",
    "island",
    "kitchen",
    "library",
    "mountain",
    "orchard",
    "picture",
    "railway",
    "sailor",
    "student",
    "tailor",
    "theatre",
    "valley",
    "weaver",
    "workshop",
    "airport",
    "banker",
    "captain",
    "daughter",
    "election",
    "factory",
    "granary",
    "hospital",
]
VERBS = [
    "crossed",
    "painted",
    "remembered",
    "followed",
    "described",
    "repaired",
    "visited",
    "noticed",
    "bought",
    "measured",
    "admired",
    "left",
]
ENDS = (
    "but nobody knew why",
    "and it was the first of its kind",
    "so that they could be there by noon",
    "which is what we have been told",
    "as if there were no other way to do it",
    "because of what had happened before",
    "though most of them did not agree with this",
    "when all the others had gone home",
)
CHINESE = "我们今天在公园里看到很多美丽的花朵和树木孩子们高兴地跑来跑去老人坐下聊天喝茶读书写字"


def sentences(seed: int, count: int) -> str:
    rng = np.random.default_rng(seed)

    def one() -> str:
        nouns = rng.choice(ENGLISH, 4, replace=False)
        year = int(rng.integers(1500, 2000))
        starts = [f"In {year} the", "A", "Every", "Not far from here the", "Then a", f"The old {nouns[3]} and the"]
        return (
            f"{rng.choice(starts)} {nouns[0]} {rng.choice(VERBS)} the {nouns[1]} of a {nouns[2]}, {rng.choice(ENDS)}."
        )

    return " ".join(one() for _ in range(count))


def chinese(seed: int, count: int) -> str:
    rng = np.random.default_rng(seed)
    return "。".join("".join(rng.choice(list(CHINESE), 14)) for _ in range(count)) + "。"


def code(seed: int) -> str:
    rng = np.random.default_rng(seed)
    names = rng.choice(ENGLISH, 4, replace=False)
    lines = [f"def {name}(value, other):\n    return value * {rng.integers(99)} + other" for name in names]
    return "\n\n".join(lines) + "\n"


LATEX = "\\documentclass{article}\n\\newcommand{\\me}{Ada}\n\\section{One}\n%s\n%% a comment\n\\begin{thebibliography}x"
GOOD = {
    "abstracts": lambda seed: sentences(seed, 5),
    "arxiv-latex": lambda seed: LATEX % sentences(seed, 8),
    "books": lambda seed: sentences(seed, 40),
    "code": lambda seed: "# Copyright 2020 Somebody\n\n" + code(seed),
    "instructions": lambda seed: [
        {"role": "user", "content": sentences(seed, 2)},
        {"role": "assistant", "content": "Ok."},
    ],
    "questions": lambda seed: f"<p>{sentences(seed, 4)}</p><ul><li>See https://example.org/a</li></ul>",
    "web-en": lambda seed: sentences(seed, 12) + " Write to me@example.org.",
    "web-zh": lambda seed: chinese(seed, 10),
    "wikipedia": lambda seed: sentences(seed, 6),
}
# In test_shipped_media.py.
OF_MEDIA = ["agent-traces", "audio-music", "audio-speech", "general-video", "image-text", "llava-pretrain"]
# In execute/test_media_recipes.py.
OF_CLIPS = ["audio-clips", "video-clips", "video-pack"]
# In tests/pipeline/llm/test_page.py and test_shipped_models.py.
WITH_MODELS = ["image-text-quality", "instruction-rating", "preference-pairs", "video-quality"]
NEEDS = {"web-en": ["ftfy", "lingua"], "web-zh": ["ftfy", "lingua", "opencc"]}


def test_every_recipe_is_listed():
    done = CliRunner().invoke(pipeline, ["run"])
    assert done.exit_code == 0
    listed = [line.split()[0] for line in done.output.splitlines()]
    assert listed == sorted([*GOOD, *OF_MEDIA, *OF_CLIPS, *WITH_MODELS]) == list(shipped())


def test_a_shipped_recipe_wants_an_input():
    done = CliRunner().invoke(pipeline, ["run", "books", "--out", "x.jinx"])
    assert done.exit_code == 2
    assert "--in data.jinx" in done.output


def test_plan_takes_a_shipped_recipe_and_another_column(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"body": {"en": "a text"}}\n', "utf-8")
    named = CliRunner().invoke(pipeline, ["plan", "books", "--in", str(source), "--text", "body.en"])
    assert named.exit_code == 0, named.output
    assert "text_length_filter" in named.output


def test_a_path_that_does_not_parse_is_refused(tmp_path):
    done = CliRunner().invoke(pipeline, ["plan", "books", "--in", "x.jsonl", "--text", "t["])
    assert done.exit_code == 2
    assert "--text: 't['" in done.output


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_recipe_keeps_what_is_good(tmp_path, name):
    for package in NEEDS.get(name, ["ftfy"]):
        pytest.importorskip(package)
    column = "messages" if name == "instructions" else "text"
    bad = ["", "#### |||| ****", "buy " * 300, "\U0001f600" * 200]
    values = [GOOD[name](seed) for seed in range(6)]
    rejected = [[{"role": "user", "content": text}] for text in bad[:1] + bad[3:]] if column == "messages" else bad
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jinx"
    lines = [{"id": at, column: value} for at, value in enumerate([*values, values[2], *rejected])]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    command = ["run", name, "--in", str(source), "--out", str(out), "--workers", "1", "--progress", "none"]
    done = CliRunner().invoke(pipeline, command)
    assert done.exit_code == 0, done.output
    with jinx.open(out, lazy=False) as dataset:
        kept = list(dataset)
    assert [sample["id"] for sample in kept] == list(range(6))
    texts = json.dumps(kept, ensure_ascii=False)
    for gone in ("https://", "me@", "Copyright", "<p>", "comment", "thebibliography", "newcommand"):
        assert gone not in texts
