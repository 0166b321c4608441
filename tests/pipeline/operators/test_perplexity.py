"""perplexity_filter, and the language models that it needs, next to plain Python that says the same."""

import json
import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from click.testing import CliRunner

import jinx_pipeline as jp
from jinx.errors import CorruptFileError, InvalidError, TruncatedFileError
from jinx_pipeline import kernels
from jinx_pipeline.cli.program import pipeline

ARPA = """\\data\\
ngram 1=5
ngram 2=3

\\1-grams:
-2.0\t<unk>
-99\t<s>\t-0.5
-1.0\t</s>
-0.7\ta\t-0.3
-0.9\tb\t-0.2

\\2-grams:
-0.2\t<s> a
-0.4\ta b
-0.1\tb </s>

\\end\\
"""


def corpus(seed: int, lines: int = 400) -> str:
    """Lines whose words depend on the ones before them."""
    rng = np.random.default_rng(seed)
    words = ["the", "a", "cat", "dog", "ran", "sat", "on", "mat", "गया", "你好", "😀", "home"]
    found = []
    for _ in range(lines):
        at = int(rng.integers(12))
        line = []
        for _ in range(int(rng.integers(1, 9))):
            line.append(words[at])
            at = (at * 5 + int(rng.zipf(1.6))) % 12
        found.append(" ".join(line))
    return "\n".join(found)


class Oracle:
    """Interpolated modified Kneser-Ney as its authors define it, computed from the counts for each question."""

    def __init__(self, text: str, order: int) -> None:
        self.order = order
        raw: list[Counter] = [Counter() for _ in range(order + 1)]
        for line in text.splitlines():
            words = ["<s>", *line.split(), "</s>"]
            for n in range(1, order + 1):
                raw[n].update(tuple(words[at : at + n]) for at in range(len(words) - n + 1))
        self.counts: list[dict] = [{} for _ in range(order + 1)]
        for n in range(1, order + 1):
            before = defaultdict(set)
            if n < order:
                for gram in raw[n + 1]:
                    before[gram[1:]].add(gram[0])
            for gram, count in raw[n].items():
                if gram != ("<s>",):
                    is_raw = n == order or gram[0] == "<s>"
                    self.counts[n][gram] = count if is_raw else len(before[gram])
        self.words = {gram[0] for gram in self.counts[1]} | {"<unk>"}

    def discount(self, n: int, count: int) -> float:
        ones, twos, threes, fours = (sum(c == k for c in self.counts[n].values()) for k in (1, 2, 3, 4))
        found = [0.5, 1, 1.5]
        if ones and twos and threes:
            y = ones / (ones + 2 * twos)
            usual = [1 - 2 * y * twos / ones, 2 - 3 * y * threes / twos, 3 - 4 * y * fours / threes]
            if all(0 < d <= at for at, d in enumerate(usual, 1)):
                found = usual
        return found[min(count, 3) - 1]

    def probability(self, context: tuple, word: str) -> float:
        n = len(context) + 1
        shorter = 1 / len(self.words) if not context else self.probability(context[1:], word)
        after = {gram[-1]: count for gram, count in self.counts[n].items() if gram[:-1] == context}
        if not after:
            return shorter
        total = sum(after.values())
        left = sum(self.discount(n, count) for count in after.values()) / total
        count = after.get(word, 0)
        return (count - self.discount(n, count) if count else 0) / total + left * shorter

    def perplexity(self, text: str) -> float:
        total, number = 0.0, 0
        for line in text.splitlines():
            words = ["<s>", *(word if word in self.words else "<unk>" for word in line.split()), "</s>"]
            for at in range(1, len(words)):
                total += math.log10(self.probability(tuple(words[max(0, at - self.order + 1) : at]), words[at]))
                number += 1
        return 10 ** (-total / number)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_trained_model_is_what_the_definition_gives(tmp_path, order):
    text = corpus(1)
    trainer = kernels.LanguageModelTrainer(order)
    for at in range(0, 400, 150):
        trainer.add(["\n".join(text.splitlines()[at : at + 150])])
    path = tmp_path / "model.arpa"
    path.write_bytes(trainer.arpa())
    oracle = Oracle(text, order)
    texts = ["the cat", "mat 😀 unknown 你好\nhome", "गया on on on", *corpus(2, 12).splitlines()]
    expected = [oracle.perplexity(text) for text in texts]
    found = jp.create("perplexity_filter", model=path)([{"text": text} for text in texts], keep_stats=True, drop=False)
    assert [item["__dj__stats__"]["perplexity"] for item in found] == pytest.approx(expected, rel=1e-5)
    contexts = [("the",), ("<s>",), ("on", "on"), ("mat", "😀")]
    for context in (text[: order - 1] for text in contexts):
        assert sum(oracle.probability(context, word) for word in oracle.words) == pytest.approx(1)


def test_back_off_is_as_the_format_defines_it(tmp_path):
    path = tmp_path / "model.arpa"
    path.write_text(ARPA)
    model = kernels.LanguageModel(path)
    assert (model.order, model.words) == (2, 5)
    texts = ["a b", "b a", "x", "a b\n\nb\r\n", "", None, "<s> a"]
    a_b = -0.2 - 0.4 - 0.1
    b_a = (-0.5 - 0.9) + (-0.2 - 0.7) + (-0.3 - 1.0)
    b = (-0.5 - 0.9) - 0.1
    x = (-0.5 - 2.0) - 1.0
    marked = (-0.5 - 2.0) - 0.7 + (-0.3 - 1.0)
    expected = [[a_b, 3], [b_a, 3], [x, 2], [a_b + b, 5], [0, 0], [0, 0], [marked, 3]]
    assert model.score(texts).tolist() == pytest.approx(np.array(expected), abs=1e-5)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", CorruptFileError, "not an ARPA file"),
        ("mmap lm http://kheafield.com/code", CorruptFileError, "not an ARPA file"),
        (ARPA.replace("\\end\\", ""), TruncatedFileError, "end"),
        (ARPA[: ARPA.index("\\2-grams")], TruncatedFileError, "2-grams"),
        (ARPA.replace("-0.4\ta b\n", ""), CorruptFileError, "2 2-grams"),
        (ARPA.replace("-0.4\ta b", "-0.4\ta z"), CorruptFileError, "line 14.*'z'|line 14.*\"z\""),
        (ARPA.replace("-0.4\ta b", "nan\ta b"), CorruptFileError, "not a number"),
        (ARPA.replace("-0.4\ta b", "-0.4\ta"), CorruptFileError, "fewer than 2 words"),
        (ARPA.replace("-0.4\ta b", "-0.4\ta b -1 -1"), CorruptFileError, "more than 2 words"),
        (ARPA.replace("ngram 2", "ngram 3"), CorruptFileError, "head"),
        ("\\data\\\nngram 1=" + "1" * 70_000, CorruptFileError, "line"),
    ],
)
def test_files_that_are_no_models(tmp_path, text, error, message):
    path = tmp_path / "model.arpa"
    path.write_text(text)
    with pytest.raises(error, match=message):
        kernels.LanguageModel(path)


def test_models_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="train-lm makes one"):
        jp.create("perplexity_filter", model=tmp_path / "x.arpa")([{"text": "a"}])
    with pytest.raises(FileNotFoundError):
        kernels.LanguageModel(tmp_path / "x.arpa")
    with pytest.raises(InvalidError, match="no text has a word"):
        kernels.LanguageModelTrainer(2).arpa()
    with pytest.raises(InvalidError, match="1 to 10"):
        kernels.LanguageModelTrainer(11)


@pytest.mark.parametrize(("unit", "most"), [("word", 60), ("character", 8)])
def test_train_lm(tmp_path, unit, most):
    samples = [{"parts": [{"say": line}]} for line in corpus(3, 300).splitlines()]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples), "utf-8")
    out = tmp_path / "model.arpa"
    command = ["train-lm", str(source), str(out), "--text", "parts[*].say", "--order", "3", "--unit", unit]
    done = CliRunner().invoke(pipeline, command)
    assert done.exit_code == 0, done.output
    first = out.read_bytes()
    assert isinstance(CliRunner().invoke(pipeline, command).exception, FileExistsError)
    assert CliRunner().invoke(pipeline, [*command, "--overwrite", "--limit", "20"]).exit_code == 0
    assert len(out.read_bytes()) < len(first)
    out.write_bytes(first)
    like, noise = samples[5]["parts"][0]["say"] + " the cat sat", "zq xv jk qq ww"
    operator = jp.create("perplexity_filter", model=out, unit=unit, max_ppl=most)
    assert operator([{"text": noise}, {"text": like}, {"text": ""}]) == [{"text": like}, {"text": ""}]


def test_tokens_of_a_tokenizer(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, "?"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "model.arpa").write_text(ARPA)
    found = jp.create("perplexity_filter", model=tmp_path / "model.arpa", tokenizer=tmp_path / "tokenizer.json")(
        [{"text": "ab"}, {"text": ""}], keep_stats=True
    )
    assert [item["__dj__stats__"]["perplexity"] for item in found] == pytest.approx([10 ** (0.7 / 3), 0], rel=1e-5)
