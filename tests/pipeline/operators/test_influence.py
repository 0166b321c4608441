"""The influence of examples is the ratio of losses that a direct call of the model gives."""

import pytest

import jinx_pipeline as jp
from pipeline.operators.tiny_models import save_causal_lm

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

SAMPLES = [{"q": "the cat sits", "a": "on the mat"}, {"q": "a photo", "a": "of a dog"}, {"q": "red", "a": "blue thing"}]
VALID = [{"q": "a red", "a": "thing sits"}, {"q": "the", "a": "blue cat"}, {"q": "dog", "a": "mat"}]
TEMPLATES = {"query_template": "{q}", "response_template": "{a}"}


def loss(path, context, text):
    model = transformers.AutoModelForCausalLM.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    ids = tokenizer(f"{context} {text}".strip(), return_tensors="pt")["input_ids"]
    labels = ids.clone()
    labels[:, : ids.shape[1] - len(tokenizer(text)["input_ids"])] = -100
    with torch.no_grad():
        return float(model(input_ids=ids, labels=labels).loss)


@pytest.mark.parametrize("task", [None, "the blue dog"])
@pytest.mark.parametrize("n_shot", [None, 2])
@pytest.mark.parametrize("as_demo", [False, True])
def test_influence_is_a_mean_of_ratios(tmp_path, task, n_shot, as_demo):
    path = save_causal_lm(tmp_path)
    operator = jp.create(
        "in_context_influence_filter",
        hf_model=path,
        valid_dataset=VALID,
        task_desc=task,
        n_shot=n_shot,
        valid_as_demo=as_demo,
        min_score=0.0,
        **TEMPLATES,
    )
    found = operator(SAMPLES, keep_stats=True)
    prefix = f"{task} " if task else ""
    for sample, made in zip(SAMPLES, found, strict=True):
        ratios = []
        for valid in VALID[:n_shot]:
            if as_demo:
                with_it = loss(path, f"{prefix}{valid['q']} {valid['a']} {sample['q']}", sample["a"])
                ratios.append(loss(path, sample["q"], sample["a"]) / with_it)
            else:
                with_it = loss(path, f"{sample['q']} {sample['a']} {prefix}{valid['q']}", valid["a"])
                ratios.append(loss(path, f"{prefix}{valid['q']}", valid["a"]) / with_it)
        expected = sum(ratios) / len(ratios)
        assert made["__dj__stats__"]["in_context_influence"] == pytest.approx(expected, abs=1e-4)


def test_a_validation_set_without_the_columns_is_refused(tmp_path):
    path = save_causal_lm(tmp_path)
    with pytest.raises(jp.ParameterError, match="a sample of valid_dataset has no 'a'"):
        jp.create("in_context_influence_filter", hf_model=path, valid_dataset=[{"q": "the"}], **TEMPLATES)
