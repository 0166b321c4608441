# ruff: noqa: RUF001 - commas of Chinese
"""Augmenters of English and Chinese texts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jinx_pipeline as jp
from jinx_pipeline.operators.text import noise_en, noise_zh

ENGLISH = "The weather in northern countries becomes remarkably colder during winter, because sunlight is weaker."
CHINESE = "这里一共有5种不同的数据增强方法，我们现在非常高兴，因为问题已经解决。"
METHODS = [(noise_en, name, ENGLISH) for name in noise_en.METHODS] + [
    (noise_zh, name, CHINESE) for name in noise_zh.METHODS
]


def operator_of(module, **parameters):
    return jp.create("nlpaug_en_mapper" if module is noise_en else "nlpcda_zh_mapper", **parameters)


@pytest.mark.parametrize(("module", "name", "text"), METHODS, ids=[name for _, name, _ in METHODS])
def test_each_method_changes_some_of_a_text(module, name, text):
    samples = [{"text": text, "n": n} for n in range(20)]
    made = operator_of(module, keep_original_sample=False, **{name: True})(samples)
    texts = [sample["text"] for sample in made]
    assert [sample["n"] for sample in made] == sorted(sample["n"] for sample in made)
    assert len(texts) >= 15
    assert len(set(texts)) > 5
    for changed in texts:
        assert changed != text
        assert abs(len(changed) - len(text)) <= 0.5 * len(text)
        assert len(set(changed) & set(text)) > 0.5 * len(set(text))


@pytest.mark.parametrize(("module", "text"), [(noise_en, ENGLISH), (noise_zh, CHINESE)])
def test_how_many_samples(module, text):
    first, second, *_ = module.METHODS
    chosen = {first: True, second: True, "aug_num": 3}
    sample = [{"text": text}]
    assert operator_of(module)(sample) == sample
    assert operator_of(module, keep_original_sample=False)(sample) == []
    both = operator_of(module, **chosen)(sample)
    assert both[0] == sample[0]
    assert 5 <= len(both) <= 7
    assert 3 <= len(operator_of(module, sequential=True, **chosen)(sample)) <= 4


def test_the_seed_and_the_id_decide():
    augment = jp.create("nlpaug_en_mapper", keyboard_error_char=True, swap_random_word=True, aug_num=2)
    samples = [{"text": ENGLISH}, {"text": ENGLISH}]
    made = augment(samples)
    assert made == augment(samples)
    assert made != augment(samples, ctx=jp.Context(seed=1))
    assert made[1] != made[6]
    assert made[:5] == augment(samples[:1])


def test_texts_of_a_dialog_are_changed_each():
    messages = [{"role": "user", "content": ENGLISH}, {"role": "assistant", "content": "Yes, indeed."}]
    roles = jp.Roles(text="messages[*].content")
    augment = jp.create("nlpaug_en_mapper", delete_random_char=True, keep_original_sample=False)
    (made,) = augment([{"messages": messages}], roles=roles)
    assert [message["role"] for message in made["messages"]] == ["user", "assistant"]
    assert all(one["content"] != two["content"] for one, two in zip(made["messages"], messages, strict=True))


@pytest.mark.parametrize("text", ["", " ", "a", "...", "的", "1", "\U0001f600", "a b"])
@pytest.mark.parametrize("module", [noise_en, noise_zh])
def test_texts_with_little_to_change(module, text):
    made = operator_of(module, **dict.fromkeys(module.METHODS, True))([{"text": text}])
    assert made[0]["text"] == text
    assert len(made) <= 1 + len(module.METHODS)


@given(st.text(max_size=80), st.integers(0, 100))
@settings(max_examples=100, deadline=None)
def test_tokens_are_the_text_and_methods_take_any_text(text, seed):
    assert "".join(noise_en.tokens_of(text)) == text
    for module in (noise_en, noise_zh):
        for method in module.METHODS.values():
            assert isinstance(method(text, np.random.default_rng(seed)), str)


def test_wrong_numbers():
    with pytest.raises(jp.ParameterError, match="aug_num"):
        jp.create("nlpaug_en_mapper", aug_num=0)
