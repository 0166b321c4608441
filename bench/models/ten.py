"""The operators with models that recipes use most, next to Data-Juicer's on the same models.

python -m bench.models.ten

It prints a table of the largest differences of scores, with the reason where there is one, and ends with 1 if a
difference is larger than its reason allows. The models are tiny, with random weights. Of operators that theirs does not
run in the newest libraries, the table has its error.
"""

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinx_pipeline as jp
from bench.environments import ROOT, python_of
from bench.models.theirs import META, STATS, score_of

sys.path.insert(0, str(ROOT / "tests"))

_EXACT = 1e-5
_SAMPLES = 12
_ERROR_CHARACTERS = 160
_EVERY = {"min_score": 0.0, "max_score": 1.0}
_ANY = {"min_score": 0.0, "max_score": 1e9}
_ROLES = {"query_template": "{query}", "response_template": "{response}"}
_VALID = [{"text": "the cat sits", "query": "a photo of", "response": "a red cat"}]
_UNTRANSLATED = {"zh_to_en_hf_model": None}


@dataclass(frozen=True)
class Case:
    """An operator with the same parameters for both.

    Attributes:
        operator: Its name.
        parameters: Its parameters; values such as `<clip>` are directories of models.
        of_theirs: Their parameters where they have other names.
        largest: The largest difference that has a reason.
        reason: Why scores differ.
    """

    operator: str
    parameters: dict[str, Any]
    of_theirs: dict[str, Any] = field(default_factory=dict[str, Any])
    largest: float = _EXACT
    reason: str = ""


CASES = (
    Case("image_text_similarity_filter", {"hf_clip": "<clip>", **_EVERY}),
    Case("image_text_matching_filter", {"hf_blip": "<blip>", **_EVERY}),
    Case("image_nsfw_filter", {"hf_nsfw_model": "<nsfw>", **_EVERY}),
    Case("image_watermark_filter", {"hf_watermark_model": "<watermark>", "prob_threshold": 1.0}),
    Case("image_pair_similarity_filter", {"hf_clip": "<clip>", **_EVERY}),
    Case("text_pair_similarity_filter", {"hf_clip": "<clip>", "text_key_second": "second", **_EVERY}),
    Case("image_text_similarity_filter", {"hf_clip": "<clip>", "horizontal_flip": True, **_EVERY}),
    Case("llm_perplexity_filter", {"hf_model": "<lm>", **_ANY}),
    Case("instruction_following_difficulty_filter", {"hf_model": "<lm>", **_ANY}),
    Case("in_context_influence_filter", {"hf_model": "<lm>", "valid_dataset": _VALID, **_ROLES, **_ANY}),
    Case("token_num_filter", {"hf_tokenizer": "<lm>", "min_num": 0}),
    Case(
        "text_embd_similarity_filter",
        {"api_or_hf_model": "<encoder>", "valid_dataset": _VALID, "pooling": "mean", **_EVERY},
        {"is_hf_model": True},
    ),
    Case("query_intent_detection_mapper", {"hf_model": "<classes>"}, _UNTRANSLATED),
    Case("query_sentiment_detection_mapper", {"hf_model": "<classes>"}, _UNTRANSLATED),
    Case("query_topic_detection_mapper", {"hf_model": "<classes>"}, _UNTRANSLATED),
    Case("image_aesthetics_filter", {"hf_scorer_model": "<aesthetics>", **_EVERY}),
    Case("phrase_grounding_recall_filter", {"hf_owlvit": "<owlvit>", "min_recall": 0.0}),
)
_PAIRS = {"image_pair_similarity_filter"}


def save_models(folder: Path) -> dict[str, str]:
    """Tiny models by name."""
    from pipeline.operators import tiny_models as tiny

    saves = {
        "clip": tiny.save_clip,
        "blip": tiny.save_blip_matching,
        "nsfw": lambda path: tiny.save_vit(path, ["normal", "nsfw"]),
        "watermark": lambda path: tiny.save_vit(path, ["clean", "watermark"], seed=1),
        "lm": tiny.save_causal_lm,
        "encoder": tiny.save_encoder,
        "classes": lambda path: tiny.save_text_classifier(path, ["question", "statement", "command"]),
        "aesthetics": tiny.save_aesthetics,
        "owlvit": tiny.save_owlvit,
    }
    saved = {name: save(folder / name) for name, save in saves.items()}
    _with_trained_scale(saved["clip"])
    return saved


def _with_trained_scale(path: str) -> None:
    """Give a CLIP model the scale of logits that trained ones have: theirs divides logits by it to get cosines."""
    import transformers

    clip = transformers.CLIPModel.from_pretrained(path)
    clip.logit_scale.data.fill_(math.log(100))
    clip.save_pretrained(path)


def samples(folder: Path, count: int) -> list[dict[str, Any]]:
    """Samples with an image, or two for pairs, and texts of the words that the models know."""
    import numpy as np

    from pipeline.operators.images import encoded, photo
    from pipeline.operators.tiny_models import WORDS

    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    paths: list[str] = []
    for number in range(count + 1):
        path = folder / f"{number}.png"
        path.write_bytes(encoded(photo(64, 48, number)))
        paths.append(str(path))
    texts = [[" ".join(rng.choice(WORDS, 8)) for _ in range(2)] for _ in range(count)]
    return [
        {"text": first, "second": second, "query": first, "response": second, "history": [], "images": paths[n : n + 2]}
        for n, (first, second) in enumerate(texts)
    ]


def given(case: Case, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The samples of a case: one image with a token of it, or two."""
    if case.operator in _PAIRS:
        return [dict(row) for row in rows]
    token = "<__dj__image> " if case.operator.startswith("image_text") else ""
    return [{**row, "images": row["images"][:1], "text": token + row["text"]} for row in rows]


def named(values: dict[str, Any], models: dict[str, str]) -> dict[str, Any]:
    """Parameters with the directories of models."""
    return {
        name: models[value[1:-1]] if isinstance(value, str) and value.startswith("<") else value
        for name, value in values.items()
    }


def ours(case: Case, rows: list[dict[str, Any]], models: dict[str, str]) -> list[Any]:
    """Our scores."""
    operator = jp.create(case.operator, **named(case.parameters, models))
    if operator.kind == "mapper":
        return [score_of(sample[META]) for sample in operator(rows)]
    found = operator(rows, keep_stats=True, drop=False, roles=jp.Roles(media_outside=True))
    return [score_of(sample[STATS]) for sample in found]


def theirs(cases: dict[str, dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Their scores by operator, from their environment."""
    (folder / "job.json").write_text(json.dumps({"cases": cases, "may_fail": True}))
    command = [python_of("datajuicer-models"), "-m", "bench.models.theirs", folder / "job.json", folder / "theirs.json"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads((folder / "theirs.json").read_text(encoding="utf-8"))


def _flags(case: Case) -> str:
    """Parameters that tell two cases of one operator apart."""
    return ", flipped" if case.parameters.get("horizontal_flip") else ""


def compared(folder: Path, count: int = _SAMPLES) -> list[dict[str, Any]]:
    """For each case: the operator, how many samples, and the largest difference with its reason, or their error.

    Args:
        folder: A directory for models and images.
        count: The number of samples.
    """
    models = save_models(folder / "models")
    rows = samples(folder / "images", count)
    job = {
        str(number): {
            "operator": case.operator,
            "parameters": named({**case.parameters, **case.of_theirs}, models),
            "samples": given(case, rows),
        }
        for number, case in enumerate(CASES)
    }
    found = theirs(job, folder)
    results: list[dict[str, Any]] = []
    for number, case in enumerate(CASES):
        its = found[str(number)]
        facts: dict[str, Any] = {"operator": f"`{case.operator}`{_flags(case)}", "samples": count}
        if "error" in its:
            facts["error"] = " ".join(its["error"].split())
        else:
            pairs = zip(ours(case, given(case, rows), models), its["scores"], strict=True)
            facts["difference"] = max(_difference(score, other) for score, other in pairs)
            facts["reason"], facts["is_explained"] = case.reason, facts["difference"] <= case.largest
        results.append(facts)
    return results


def _difference(score: Any, other: Any) -> float:
    """The difference of two scores, of large ones relative to them; infinite for other classes."""
    if isinstance(other, list):
        return _difference(score[1], other[1]) if score[0] == other[0] else math.inf
    return abs(score - other) / max(abs(other), 1.0)


def table(results: list[dict[str, Any]]) -> str:
    """The results as a table in Markdown."""
    rows = ["| operator | samples | largest difference | reason |", "|---|--:|--:|---|"]
    for facts in results:
        difference, reason = "", f"theirs fails: {facts.get('error', '')[:_ERROR_CHARACTERS].replace('|', '/')}"
        if "error" not in facts:
            difference, reason = f"{facts['difference']:.0e}", facts["reason"]
        rows.append(f"| {facts['operator']} | {facts['samples']} | {difference} | {reason} |")
    return "\n".join(rows)


def main() -> None:
    """The table."""
    with tempfile.TemporaryDirectory() as name:
        results = compared(Path(name))
    print(table(results))
    sys.exit(int(not all(facts.get("is_explained", True) for facts in results)))


if __name__ == "__main__":
    main()
