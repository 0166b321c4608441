"""Operators on texts with spaCy count what its pipelines find."""

import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.multimodal.phrase_grounding_recall_filter import noun_phrases

spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

TAGS = {
    "the": ("DET", "DT"),
    "a": ("DET", "DT"),
    "red": ("ADJ", "JJ"),
    "cat": ("NOUN", "NN"),
    "dogs": ("NOUN", "NNS"),
    "mat": ("NOUN", "NN"),
    "sits": ("VERB", "VBZ"),
    "ran": ("VERB", "VBD"),
    "can": ("AUX", "MD"),
    "on": ("ADP", "IN"),
    ".": ("PUNCT", "."),
}
EXAMPLE = {
    "words": ["the", "red", "cat", "sits", "on", "a", "mat", "."],
    "heads": [2, 2, 3, 3, 3, 6, 4, 3],
    "deps": ["det", "amod", "nsubj", "ROOT", "prep", "det", "pobj", "punct"],
}


def save_rules(folder, pipeline=None):
    """Save a pipeline that tags known words by rules."""
    pipeline = pipeline or spacy.blank("en")
    ruler = pipeline.add_pipe("attribute_ruler")
    for word, (part, tag) in TAGS.items():
        ruler.add([[{"LOWER": word}]], {"POS": part, "TAG": tag})
    pipeline.to_disk(folder)
    return str(folder)


def save_parser(folder):
    """Save a pipeline with such rules and a parser that learned one sentence."""
    from spacy.training import Example

    pipeline = spacy.blank("en")
    pipeline.add_pipe("parser", config={"min_action_freq": 1})
    doc = pipeline.make_doc(" ".join(EXAMPLE["words"]))
    example = Example.from_dict(doc, EXAMPLE)
    optimizer = pipeline.initialize(lambda: [example])
    for _ in range(30):
        pipeline.update([example], sgd=optimizer)
    return save_rules(folder, pipeline)


def test_actions_are_verbs(tmp_path):
    path = save_rules(tmp_path)
    texts = ["The cat sits", "a red mat", "", "the dogs ran . The cat sits", "dogs can <__dj__image>"]
    operator = jp.create("text_action_filter", spacy_model=path)
    found = operator([{"text": text} for text in texts], keep_stats=True, drop=False)
    assert [sample["__dj__stats__"]["num_action"] for sample in found] == [1, 0, 0, 2, 0]
    assert [sample["text"] for sample in operator([{"text": text} for text in texts])] == [texts[0], texts[3]]


@pytest.mark.parametrize("any_or_all", ["any", "all"])
def test_dependencies_are_those_of_the_parser(tmp_path, any_or_all):
    path = save_parser(tmp_path)
    texts = ["the red cat sits on a mat .", "the dogs ran", "sits on", ""]
    operator = jp.create("text_entity_dependency_filter", spacy_model=path, min_dependency_num=2, any_or_all=any_or_all)
    found = operator([{"text": text} for text in texts], keep_stats=True, drop=False)
    expected = [edges(path, text) for text in texts]
    assert [sample["__dj__stats__"]["num_dependency_edges"] for sample in found] == expected
    assert expected[2:] == [[], []]
    decide = any if any_or_all == "any" else all
    kept = [text for text, counts in zip(texts, expected, strict=True) if counts and decide(n >= 2 for n in counts)]
    assert [sample["text"] for sample in operator([{"text": text} for text in texts])] == kept


def edges(path, text):
    """The edges of the tree at each noun: to its head, and from its children."""
    counts = []
    for token in spacy.load(path)(text):
        if token.pos_ == "NOUN":
            children = [child for child in token.children if child.pos_ != "PUNCT"]
            counts.append((token.dep_ != "ROOT") + len(children))
    return counts


def test_noun_phrases(tmp_path):
    pipeline = spacy.load(save_rules(tmp_path))
    found = noun_phrases(pipeline("the red cat sits on a mat . dogs ran red"))
    assert found == ("the red cat", "a mat", "dogs")
    assert noun_phrases(pipeline("sits on")) == ()


def test_a_pipeline_without_what_is_needed_stops(tmp_path):
    pipeline = spacy.blank("en")
    pipeline.to_disk(tmp_path / "blank")
    operator = jp.create("text_action_filter", spacy_model=str(tmp_path / "blank"))
    with pytest.raises(ValueError, match="no component that sets TAG"):
        operator([{"text": "a cat"}])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="is not a pipeline of spaCy"):
        jp.create("text_action_filter", spacy_model=str(tmp_path / "empty"))([{"text": "a cat"}])


def test_a_missing_pipeline_is_a_needed_file():
    operator = jp.operators.operator_class("text_action_filter")(spacy_model="/nowhere/model")
    assert [(file.path, file.is_there) for file in operator.needed_files] == [("/nowhere/model", False)]
