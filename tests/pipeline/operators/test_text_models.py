"""Operators that run a model on texts give what transformers gives for the same model."""

import json
from io import BytesIO

import pytest
from PIL import Image

import jinx_pipeline as jp
from pipeline.operators.images import encoded, photo
from pipeline.operators.tiny_models import save_blip_matching, save_causal_lm, save_encoder, save_text_classifier

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, str]:
    """The directories of tiny models."""
    folder = tmp_path_factory.mktemp("models")
    return {
        "lm": save_causal_lm(folder / "lm"),
        "encoder": save_encoder(folder / "encoder"),
        "blip": save_blip_matching(folder / "blip"),
        "classes": save_text_classifier(folder / "classes", ["question", "statement", "command"]),
    }


def measured(name, samples, **parameters):
    operator = jp.create(name, **parameters)
    (stat,) = operator.stats
    return [sample["__dj__stats__"][stat] for sample in operator(samples, keep_stats=True, drop=False)]


def loss(path, context, text):
    """The loss of transformers for the tokens of a text after a context."""
    model = transformers.AutoModelForCausalLM.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    ids = tokenizer(f"{context} {text}".strip(), return_tensors="pt")["input_ids"][:, -32:]
    labels = ids.clone()
    labels[0, : -len(tokenizer(text)["input_ids"])] = -100
    with torch.no_grad():
        return model(input_ids=ids, labels=labels).loss


TEXTS = ["a red cat", "the dog sits on the mat", "cat", "", "a photo of a blue thing", "the cat " * 30]


def test_perplexity(models):
    found = measured("llm_perplexity_filter", [{"text": text} for text in TEXTS], hf_model=models["lm"])
    for text, value in zip(TEXTS, found, strict=True):
        expected = float(loss(models["lm"], "", text).exp()) if " " in text else None
        assert value == near(expected, rel=1e-4)


def near(value, rel=1e-5):
    return None if value is None else pytest.approx(value, rel=rel)


def test_a_score_does_not_depend_on_the_batch(models):
    samples = [{"text": text} for text in TEXTS]
    together = measured("llm_perplexity_filter", samples, hf_model=models["lm"])
    small = jp.Model(path=models["lm"], max_tokens=8, max_items=2)
    for number, sample in enumerate(samples):
        assert measured("llm_perplexity_filter", [sample], hf_model=small) == [near(together[number])]
    assert measured("llm_perplexity_filter", samples, hf_model=small) == [near(value) for value in together]


def test_difficulty(models):
    samples = [
        {"text": "", "query": "a photo of", "response": "a cat"},
        {"text": "", "query": "the", "response": "dog"},
    ]
    found = measured(
        "instruction_following_difficulty_filter",
        samples,
        hf_model=models["lm"],
        query_template="{query}",
        response_template="{response}",
    )
    ratio = loss(models["lm"], "a photo of", "a cat") / loss(models["lm"], "", "a cat")
    assert found == [pytest.approx(float(ratio), rel=1e-4), None]
    messages = [{"role": "user", "content": "a photo of"}, {"role": "assistant", "content": "a cat"}]
    found = measured(
        "instruction_following_difficulty_filter",
        [{"messages": messages}],
        hf_model=models["lm"],
        query_template="",
        response_template="",
    )
    assert found == [pytest.approx(float(ratio), rel=1e-4)]


@pytest.mark.parametrize("template", ["{text.__class__}", "{text!r}", "{0}", "{text:>9}"])
def test_a_template_has_only_columns(template):
    with pytest.raises(jp.ParameterError, match="is not a column in braces"):
        jp.create("llm_perplexity_filter", query_template=template)


@pytest.mark.parametrize("pooling", ["mean", "cls", "last", None])
def test_similarity_to_a_validation_set(models, pooling):
    valid = [{"text": "a red thing"}, {"text": "the dog sits"}]
    texts = ["a cat", "the dog sits on the mat", "a photo of a red cat on a mat"]
    found = measured(
        "text_embd_similarity_filter",
        [{"text": text} for text in texts],
        api_or_hf_model=models["encoder"],
        valid_dataset=valid,
        pooling=pooling,
    )
    vectors = {
        text: vector(models["encoder"], text, pooling or "mean") for text in (*texts, "a red thing", "the dog sits")
    }
    for text, value in zip(texts, found, strict=True):
        cosines = [torch.cosine_similarity(vectors[text], vectors[one["text"]], dim=0) for one in valid]
        assert value == pytest.approx(float(sum(cosines)) / 2, abs=1e-5)


def test_embeddings(models):
    texts = ["a cat", "the dog sits on the mat"]
    made = jp.create("text_embedding_mapper", hf_model=models["encoder"])([{"text": text} for text in texts])
    for text, sample in zip(texts, made, strict=True):
        expected = torch.nn.functional.normalize(vector(models["encoder"], text, "mean"), dim=0)
        assert sample["text_embedding"] == pytest.approx(expected.tolist(), abs=1e-5)


def vector(path, text, pooling):
    model = transformers.AutoModel.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    with torch.no_grad():
        states = model(**tokenizer(text, return_tensors="pt", return_token_type_ids=False)).last_hidden_state[0]
    return {"mean": states.mean(dim=0), "cls": states[0], "last": states[-1]}[pooling]


def test_the_pooling_of_sentence_transformers(models, tmp_path):
    path = tmp_path / "encoder"
    save_encoder(path)
    (path / "1_Pooling").mkdir()
    modes = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (path / "1_Pooling" / "config.json").write_text(json.dumps(modes), "utf-8")
    options = {"valid_dataset": [{"text": "a red thing"}]}
    samples = [{"text": "the dog sits on the mat"}]
    of_kind = jp.Model(kind="sentence-transformers", path=str(path))
    found = measured("text_embd_similarity_filter", samples, api_or_hf_model=of_kind, **options)
    expected = measured(
        "text_embd_similarity_filter", samples, api_or_hf_model=models["encoder"], pooling="cls", **options
    )
    assert found == [pytest.approx(expected[0], abs=1e-5)]


@pytest.mark.parametrize("kind", ["intent", "sentiment", "topic"])
def test_classes_of_queries(models, kind):
    queries = ["a cat", "the dog sits on the mat", "a photo of a red cat on a mat"]
    samples = [{"query": query, "__dj__meta__": {"kept": 1}} for query in queries]
    found = jp.create(f"query_{kind}_detection_mapper", hf_model=models["classes"])(samples)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(models["classes"]).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(models["classes"])
    for query, sample in zip(queries, found, strict=True):
        with torch.no_grad():
            inputs = tokenizer(query, return_tensors="pt", return_token_type_ids=False)
            scores = model(**inputs).logits[0].softmax(dim=-1)
        facts = sample["__dj__meta__"]
        assert facts[f"query_{kind}_label"] == model.config.id2label[int(scores.argmax())]
        assert facts[f"query_{kind}_label_score"] == near(float(scores.max()))
        assert facts["kept"] == 1
    with pytest.raises(TypeError, match="query is not a text: None"):
        jp.create(f"query_{kind}_detection_mapper", hf_model=models["classes"])([{"query": None}])


def test_image_text_matching(models):
    images = [encoded(photo(40, 30, seed)) for seed in range(3)]
    samples = [
        {"text": "a red cat", "images": images[:1]},
        {"text": "the dog sits on the mat", "images": images[1:]},
        {"text": "a", "images": []},
    ]
    found = measured("image_text_matching_filter", samples, hf_blip=models["blip"], reduce_mode="min")
    model = transformers.BlipForImageTextRetrieval.from_pretrained(models["blip"]).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(models["blip"])
    processor = transformers.AutoImageProcessor.from_pretrained(models["blip"])
    for sample, scores in zip(samples, found, strict=True):
        expected = []
        for data in sample["images"]:
            inputs = tokenizer(sample["text"], return_tensors="pt", return_token_type_ids=False)
            pixels = processor(images=Image.open(BytesIO(data)).convert("RGB"), return_tensors="pt")["pixel_values"]
            with torch.no_grad():
                expected.append(float(model(pixel_values=pixels, **inputs).itm_score.softmax(dim=-1)[0, 1]))
        assert scores == pytest.approx([min(expected)] if expected else [], abs=1e-5)
