"""The ten filters with models that recipes use most and that Data-Juicer runs without a download, on the same models.

python -m bench.models.ten

It prints a table of the largest differences of scores, with the reason where there is one, and ends with 1 if a
difference is larger than its reason allows. The models are tiny, with random weights.
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

sys.path.insert(0, str(ROOT / "tests"))

_EXACT = 1e-5
_EVERY = {"min_score": 0.0, "max_score": 1.0}


@dataclass(frozen=True)
class Case:
    """A filter with the same parameters for both.

    Attributes:
        operator: Its name.
        parameters: Its parameters; values such as `{clip}` are directories of models.
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
    Case("image_text_similarity_filter", {"hf_clip": "{clip}", **_EVERY}),
    Case("image_text_matching_filter", {"hf_blip": "{blip}", **_EVERY}),
    Case("image_nsfw_filter", {"hf_nsfw_model": "{nsfw}", **_EVERY}),
    Case("image_watermark_filter", {"hf_watermark_model": "{watermark}", "prob_threshold": 1.0}),
    Case("image_pair_similarity_filter", {"hf_clip": "{clip}", **_EVERY}),
    Case("text_pair_similarity_filter", {"hf_clip": "{clip}", "text_key_second": "second", **_EVERY}),
    Case("image_text_similarity_filter", {"hf_clip": "{clip}", "horizontal_flip": True, **_EVERY}),
    Case("llm_perplexity_filter", {"hf_model": "{lm}", "min_score": 0.0, "max_score": 1e9}),
    Case("instruction_following_difficulty_filter", {"hf_model": "{lm}", "min_score": 0.0, "max_score": 1e9}),
    Case("token_num_filter", {"hf_tokenizer": "{lm}", "min_num": 0}),
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
        name: models[value[1:-1]] if isinstance(value, str) and value.startswith("{") else value
        for name, value in values.items()
    }


def ours(case: Case, rows: list[dict[str, Any]], models: dict[str, str]) -> list[float]:
    """Our scores."""
    operator = jp.create(case.operator, **named(case.parameters, models))
    found = operator(rows, keep_stats=True, drop=False, roles=jp.Roles(media_outside=True))
    values = [next(iter(sample["__dj__stats__"].values())) for sample in found]
    return [float(value[0] if isinstance(value, list) else value) for value in values]


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


def main() -> None:
    """The table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = save_models(folder / "models")
        rows = samples(folder / "images", 12)
        job = {
            f"{number} {case.operator}": {
                "operator": case.operator,
                "parameters": named({**case.parameters, **case.of_theirs}, models),
                "samples": given(case, rows),
            }
            for number, case in enumerate(CASES)
        }
        found = theirs(job, folder)
        is_wrong = False
        print("| operator | samples | largest difference | reason |\n|---|--:|--:|---|")
        for number, case in enumerate(CASES):
            mine = ours(case, given(case, rows), models)
            its = found[f"{number} {case.operator}"]
            if "error" in its:  # theirs does not run with the newest libraries
                print(f"| `{case.operator}` | {len(mine)} | | theirs fails: {its['error'][:100]} |", flush=True)
                continue
            others = its["scores"]
            pairs = zip(mine, others, strict=True)
            difference = max(abs(one - other) / max(abs(other), 1.0) for one, other in pairs)
            is_wrong |= difference > case.largest
            print(f"| `{case.operator}`{_flags(case)} | {len(mine)} | {difference:.0e} | {case.reason} |", flush=True)
    sys.exit(int(is_wrong))


if __name__ == "__main__":
    main()
