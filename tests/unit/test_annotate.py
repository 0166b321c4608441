"""`jinx.annotate`: lengths of text and images, kept as a view; tests/trainers compares them with transformers."""

import json
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import chat
import jinx
from jinx._annotate.lengths import Spool
from jinx._cli.program import run

pytest.importorskip("tokenizers")
pytest.importorskip("PIL.Image")

COUNT = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("annotate")


@pytest.fixture(scope="module")
def tokenizer(folder) -> Path:
    return chat.write_tokenizer(folder / "tokenizer")


@pytest.fixture(scope="module")
def dataset(folder) -> Path:
    return chat.write_chat(folder / "chat.jinx", COUNT, images=2)


def test_counts_are_those_of_the_text_and_the_images(dataset, tokenizer, tmp_path):
    out = tmp_path / "lengths.jinx"
    done = jinx.annotate(dataset, out, tokenizer=tokenizer, image_rule="fixed:5", tokens=True)
    assert (done.samples, done.path) == (COUNT, str(out))
    view = jinx.open(out)
    image = view[0]["input_ids"].dtype.type(chat.SPECIAL.index("<image>"))
    for i, sample in enumerate(view):
        ids, is_label = sample["input_ids"], sample["label_mask"]
        assert sample["num_images"] == i % 3 == len(sample["images"])
        assert sample["num_patches"] == 5 * sample["num_images"] == (ids == image).sum()
        assert (sample["num_tokens"], sample["num_label_tokens"]) == (len(ids), is_label.sum())
        # What counts in the loss is what the assistant says, with the end of its turn.
        said = [w for m in sample["messages"] if m["role"] == "assistant" for w in [*m["content"].split(), "</s>"]]
        names = [*chat.SPECIAL, *chat.WORDS]
        assert [names[token] for token in ids[is_label]] == said
    assert view.info().meta["annotate"]["image_rule"] == "fixed:tokens=5,patches=0"
    assert {one.path for one in view.info().indexed} >= {"num_tokens", "num_label_tokens", "num_images", "num_patches"}
    assert view.info().bytes < 20_000


def test_a_template_without_marks_gives_the_same_labels(dataset, tokenizer, tmp_path):
    plain = chat.TEMPLATE.replace("{% generation %}", "").replace("{% endgeneration %}", "")
    (tmp_path / "plain.jinja").write_text(plain, "utf-8")
    columns = []
    for name, template in (("a", "auto"), ("b", tmp_path / "plain.jinja")):
        out = tmp_path / f"{name}.jinx"
        jinx.annotate(dataset, out, tokenizer=tokenizer, chat_template=template, image_rule="fixed:5", tokens=True)
        columns.append([mask.tolist() for mask in jinx.open(out)["label_mask"]])
    assert columns[0] == columns[1]


def test_the_counts_do_not_depend_on_the_processes(dataset, tokenizer, tmp_path):
    options = {"tokenizer": tokenizer, "image_rule": "tiles:size=4,max=6,tokens=3,patch=2", "tokens": True}
    for workers in (0, 2):
        jinx.annotate(dataset, tmp_path / f"{workers}.jinx", workers=workers, **options)
    one, two = (jinx.open(tmp_path / f"{workers}.jinx") for workers in (0, 2))
    assert one.info().ids == two.info().ids


def test_rules_of_the_model_families():
    from jinx._annotate.image_rules import parse_image_rule as rule

    assert rule("fixed:64")(640, 480) == (64, 64)
    # 2 x 1 tiles of 448 pixels and the thumbnail.
    assert rule("tiles:tokens=256")(896, 448) == (3 * 256, 3 * 32 * 32)
    assert rule("tiles:thumbnail=no,max=1,tokens=9")(896, 448) == (9, 32 * 32)
    # Qwen-VL: sides become multiples of 28 pixels; patches of 14, four to a token.
    assert rule("qwen-vl")(640, 480) == (23 * 17, 4 * 23 * 17)
    assert rule("qwen-vl:max_pixels=50176")(2000, 1000) == (11 * 5, 4 * 11 * 5)
    assert rule("qwen-vl")(10, 10) == (4, 16)
    assert rule(lambda width, height: width * height)(3, 4) == (12, 12)
    assert rule(lambda width, height: (width, height))(3, 4) == (3, 4)
    for wrong, told in (
        ("fix:3", "did you mean 'fixed'"),
        ("fixed", "fixed:64"),
        ("tiles:sizes=3", "tiles has no 'sizes'"),
        ("qwen-vl:patch=x", "a whole number"),
        ("tiles:thumbnail=7", "yes or no"),
    ):
        with pytest.raises(ValueError, match=told):
            rule(wrong)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_sizes_come_from_headers(form):
    from jinx._annotate.image_size import ShortHeaderError, image_size
    from jinx.errors import CorruptFileError

    data = chat.picture(np.random.default_rng(1), 37, 23, form)
    assert image_size(data) == (37, 23)
    if form in {"PNG", "JPEG", "GIF", "WEBP"}:
        assert image_size(data[:700]) == (37, 23)
        with pytest.raises(ShortHeaderError):
            image_size(data[: 9 if form == "GIF" else 12])
    with pytest.raises(CorruptFileError):
        image_size(b"no image at all")


def test_datasets_of_other_forms(tokenizer, tmp_path):
    rng = np.random.default_rng(0)
    image = {"bytes": chat.picture(rng, 8, 8), "path": "a.png"}
    parts = [{"type": "image", "text": None}, {"type": "text", "text": " w1 w2"}]
    rows = {
        "conversations": [{"from": "human", "value": "<image> w1 w2"}, {"from": "gpt", "value": "w3"}],
        "texts": [{"user": "w1 w2", "assistant": "w3"}],
        "messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": "w3"}],
    }
    for name, value in rows.items():
        with jinx.Writer(tmp_path / f"{name}.jinx") as writer:
            writer.write({name: value, "image": image})
        out = tmp_path / f"{name}-lengths.jinx"
        jinx.annotate(tmp_path / f"{name}.jinx", out, tokenizer=tokenizer, image_rule="fixed:7", tokens=True)
        sample = jinx.open(out)[0]
        # <s> <user> image w1 w2 <assistant> w3 </s>
        if name == "texts":  # its placeholder stands right before the first word
            continue
        assert (sample["num_tokens"], sample["num_label_tokens"]) == (14, 2), name


def test_text_counts_as_a_whole(tokenizer, tmp_path):
    with jinx.Writer(tmp_path / "text.jinx") as writer:
        writer.write({"text": "w1 w2 w3"})
        writer.write({"text": ""})
    jinx.annotate(tmp_path / "text.jinx", tmp_path / "out.jinx", tokenizer=tokenizer)
    view = jinx.open(tmp_path / "out.jinx")
    assert (view["num_tokens"].tolist(), view["num_label_tokens"].tolist()) == ([3, 0], [2, 0])


def test_a_function_counts_in_place_of_a_tokenizer(dataset, tmp_path):
    jinx.annotate(dataset, tmp_path / "one.jinx", function=lambda sample: sample["id"])
    assert jinx.open(tmp_path / "one.jinx")["num_tokens"].tolist() == list(range(COUNT))
    jinx.annotate(
        dataset, tmp_path / "two.jinx", function=lambda sample: {"input_ids": [1, 2, sample["id"]]}, tokens=True
    )
    sample = jinx.open(tmp_path / "two.jinx")[9]
    assert (sample["input_ids"].tolist(), sample["label_mask"].tolist()) == ([1, 2, 9], [False, True, True])
    with pytest.raises(jinx.InvalidError, match=r"sample 0: .*'tokens'"):
        jinx.annotate(dataset, tmp_path / "three.jinx", function=lambda sample: {"tokens": 3})
    with pytest.raises(ValueError, match="no tokenizer"):
        jinx.annotate(dataset, tmp_path / "three.jinx", function=len, tokenizer="x")
    assert not (tmp_path / "three.jinx").exists()


def test_an_error_names_the_sample(tokenizer, tmp_path):
    with jinx.Writer(tmp_path / "bad.jinx") as writer:
        writer.write_many({"messages": chat.conversation(i), "images": []} for i in range(3))
        writer.write({"messages": chat.conversation(3), "images": [b"no image" * 20]})
    with pytest.raises(jinx.InvalidError, match=r"sample 3: 160 bytes that are not an image") as raised:
        jinx.annotate(tmp_path / "bad.jinx", tmp_path / "out.jinx", tokenizer=tokenizer, image_rule="fixed:7")
    assert raised.value.sample == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.binx", "bad.jinx"]


@pytest.mark.parametrize("tokens", [False, True])
def test_a_dataset_without_samples_has_columns_of_lengths(tokenizer, tmp_path, tokens):
    with jinx.Writer(tmp_path / "empty.jinx"):
        pass
    ids = ["input_ids", "label_mask"] if tokens else []
    for rule, images in ((None, []), ("fixed:4", ["num_images", "num_patches"])):
        out = tmp_path / f"{rule}.jinx"
        jinx.annotate(tmp_path / "empty.jinx", out, tokenizer=tokenizer, image_rule=rule, tokens=tokens)
        found = jinx.open(out)
        assert found.column_names == ["num_tokens", "num_label_tokens", *images, *ids]
        assert len(found["num_tokens"]) == 0


def test_annotated_again_the_new_counts_hold(dataset, tokenizer, tmp_path):
    for name, source, rule in (("a", dataset, "fixed:4"), ("b", tmp_path / "a.jinx", "fixed:8")):
        jinx.annotate(source, tmp_path / f"{name}.jinx", tokenizer=tokenizer, image_rule=rule)
    one, two = (jinx.open(tmp_path / f"{name}.jinx") for name in "ab")
    assert (two["num_tokens"] - one["num_tokens"]).tolist() == (4 * one["num_images"]).tolist()
    assert two.info().meta["annotate"]["image_rule"] == "fixed:tokens=8,patches=0"
    assert [base.path for base in two.info().bases] == [str(dataset)]


def test_a_killed_worker_is_an_error(dataset, tmp_path):
    with pytest.raises(jinx.JinxError, match="a process that counts has ended"):
        jinx.annotate(dataset, tmp_path / "out.jinx", function=kill_myself, workers=1)


@pytest.mark.parametrize("ends", ["os._exit(0)", "raise SystemExit(0)"])
@pytest.mark.parametrize("workers", [(), ("--workers", "0"), ("--workers", "2")])
def test_a_function_of_a_file_that_exits_is_an_error(dataset, tmp_path, ends, workers):
    code = tmp_path / "leaving.py"
    code.write_text(f"import os\ndef leave(sample):\n    {ends}\n", "utf-8")
    command = [sys.executable, "-m", "jinx", "annotate", str(dataset), "out.jinx", "--code", f"{code}:leave", *workers]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "sample" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.jinx").exists()


def test_a_function_of_a_file_may_be_a_lambda_and_import_its_neighbours(dataset, tmp_path):
    (tmp_path / "neighbour_of_count.py").write_text("FACTOR = 3\n", "utf-8")
    code = tmp_path / "my-count.py"
    code.write_text("from neighbour_of_count import FACTOR\ncount = lambda sample: FACTOR * sample['id']\n", "utf-8")
    command = [sys.executable, "-m", "jinx", "annotate", str(dataset), "out.jinx", "--code", f"{code}:count"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    view = jinx.open(tmp_path / "out.jinx")
    assert view["num_tokens"].tolist() == [3 * i for i in range(COUNT)]
    function = view.info().meta["annotate"]["function"]
    assert (function["name"], len(function["hash"])) == ("count", 32)


def kill_myself(sample):
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_recipe_stays_with_views_of_the_view(dataset, tokenizer, tmp_path):
    from jinx._saved_views.meta import counted

    jinx.annotate(dataset, tmp_path / "a.jinx", tokenizer=tokenizer, image_rule="fixed:5")
    view = jinx.open(tmp_path / "a.jinx")
    recipe = view.info().meta["annotate"]
    view.filter("num_tokens > 20").save(tmp_path / "b.jinx")
    view.with_columns({"more": range(COUNT)}).save(tmp_path / "c.jinx")
    jinx.convert(view, tmp_path / "d.jinx")
    for name in "bcd":
        opened = jinx.open(tmp_path / f"{name}.jinx")
        assert "num_tokens" in opened.column_names, name
        assert [one.settings for one in counted(opened)] == [recipe], name


def test_the_command_does_the_same(dataset, tokenizer, tmp_path, capsys):
    out, code = tmp_path / "out.jinx", tmp_path / "mine.py"
    code.write_text("def ids(sample):\n    return {'num_tokens': 2 * sample['id']}\n", "utf-8")

    def command(*words: str) -> tuple[int, str, str]:
        done = run(["annotate", str(dataset), str(out), *words])
        said = capsys.readouterr()
        return done, said.out, said.err

    assert (
        json.loads(command("--tokenizer", str(tokenizer), "--image-rule", "fixed:5", "--json")[1])["samples"] == COUNT
    )
    assert jinx.open(out)["num_images"].tolist() == [i % 3 for i in range(COUNT)]
    assert command("--code", f"{code}:ids", "--overwrite", "--workers", "1")[0] == 0
    assert jinx.open(out)["num_tokens"].tolist() == [2 * i for i in range(COUNT)]
    for words, told in (
        (["--tokenizer", str(tokenizer)], "exists"),
        (["--overwrite"], "--tokenizer PATH"),
        (["--overwrite", "--code", f"{code}:idx"], "no function 'idx'"),
        (["--overwrite", "--tokenizer", "nowhere"], "no tokenizer here"),
        (["--overwrite", "--tokenizer", str(tokenizer), "--image-rule", "fixed"], "fixed:64"),
    ):
        done, _, error = command(*words)
        assert (done, told in error) == (2, True), error


def test_of_images_only_headers_are_read(tokenizer, tmp_path):
    """What lies behind them in the sidecar may be damaged, and is not noticed."""
    rng = np.random.default_rng(0)
    images = [chat.picture(rng, 200, 150), chat.picture(rng, 100 + 4, 180)]
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many(
            {"messages": chat.conversation(i, images=1), "image": image} for i, image in enumerate(images)
        )
    side = tmp_path / "a.binx"
    damaged = bytearray(side.read_bytes())
    for image in images:
        at = damaged.index(image[:64]) + 20_000
        damaged[at : at + 8] = bytes(8)
    side.write_bytes(damaged)
    dataset = jinx.open(tmp_path / "a.jinx")
    with pytest.raises(jinx.CorruptFileError):
        dataset[0]["image"]
    for source in (dataset, dataset.with_columns({"more": [1, 2]}), jinx.concat([dataset[:1], dataset[1:]])):
        jinx.annotate(source, tmp_path / "b.jinx", tokenizer=tokenizer, image_rule=area, overwrite=True)
        assert jinx.open(tmp_path / "b.jinx")["num_patches"].tolist() == [200 * 150, 104 * 180]


def area(width, height):
    return 3, width * height


def test_a_header_longer_than_what_is_read_first(tokenizer, tmp_path):
    data = chat.picture(np.random.default_rng(0), 30, 20, "JPEG")
    notes = b"".join(b"\xff\xe1\xff\xff" + bytes(65_533) for _ in range(2))  # as cameras store previews
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write({"messages": chat.conversation(0, images=1), "image": data[:2] + notes + data[2:]})
    jinx.annotate(tmp_path / "a.jinx", tmp_path / "b.jinx", tokenizer=tokenizer, image_rule=area)
    assert jinx.open(tmp_path / "b.jinx")["num_patches"].tolist() == [600]


def test_a_script_needs_no_main_guard(dataset, tokenizer, tmp_path):
    script = f"""
import jinx
options = dict(workers=2, overwrite=True)
jinx.annotate({str(dataset)!r}, "a.jinx", tokenizer={str(tokenizer)!r}, image_rule="fixed:5", **options)
def count(sample):
    return sample["id"]
jinx.annotate({str(dataset)!r}, "b.jinx", function=count)
print(jinx.open("a.jinx")["num_tokens"].sum() > 0, jinx.open("b.jinx")["num_tokens"].tolist()[-1])
try:
    jinx.annotate({str(dataset)!r}, "c.jinx", function=count, workers=2)
except TypeError as error:
    print(error)
"""
    (tmp_path / "script.py").write_text(script, "utf-8")
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[0] == f"True {COUNT - 1}", done.stderr
    assert "must be in a module" in done.stdout.splitlines()[1]
    assert done.stderr == ""


def test_errors_say_what_they_are(dataset, tokenizer, tmp_path, capsys):
    code = tmp_path / "mine.py"
    code.write_text("def f(sample):\n    return int('x')\n\ndef g(sample):\n    return sample['nothing']\n")
    out = str(tmp_path / "out.jinx")
    assert run(["annotate", str(dataset), out, "--code", f"{code}:f"]) == 1
    assert "sample 0: ValueError in the function: invalid literal" in capsys.readouterr().err
    assert run(["annotate", str(dataset), out, "--code", f"{code}:g"]) == 1
    assert "sample 0: KeyError in the function: 'nothing'" in capsys.readouterr().err
    (tmp_path / "tokenizer.json").write_text("{}")
    assert run(["annotate", str(dataset), out, "--tokenizer", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "this is not a tokenizer.json" in said
    assert len(said.splitlines()) == 1


def test_the_view_does_not_become_a_file_of_the_dataset(dataset, tokenizer, tmp_path):
    jinx.convert(dataset, tmp_path / "shards")
    before = sorted(one.name for one in (tmp_path / "shards").iterdir())
    with pytest.raises(ValueError, match="an input, which is never changed"):
        jinx.annotate(tmp_path / "shards", tmp_path / "shards" / "lengths.jinx", tokenizer=tokenizer)
    assert sorted(one.name for one in (tmp_path / "shards").iterdir()) == before


def test_a_block_of_token_ids_costs_the_same_at_any_length(tmp_path):
    spool = Spool(str(tmp_path), "<u2")
    samples = 400_000
    spool.append(np.arange(samples, dtype="<u2"), np.ones(samples, dtype=np.int64))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for start in range(0, 2560, 256):
            spool.append(np.arange(start, start + 256, dtype="<u2"), np.ones(256, dtype=np.int64))
        assert tracemalloc.get_traced_memory()[1] - before < samples
    finally:
        tracemalloc.stop()
    assert (len(spool), spool[samples + 2559].tolist()) == (samples + 2560, [2559])
    spool.close()
