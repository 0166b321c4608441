"""A recipe of all operators that look at keys, on made data; every task can be made to die once."""

import json
import random
from pathlib import Path

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.operators.api.keyed import Partitioned
from jinx_pipeline.operators.order.ranked import Ranked

MENU = "Home | News | Contact"
MORTAL = Path(__file__).with_name("mortal.py")
OPTIONS = {"block_rows": 60, "custom_operators": (str(MORTAL),)}
TOTALS = {"kind": "first:kind", "rows": "count", "ids": "concat:id", "stars": "sum:stars"}


def write_data(folder: Path) -> Path:
    """Texts of which many repeat others, and ratings of some of them."""
    rng = random.Random(4)
    words = [f"w{number}" for number in range(900)]
    texts: list[list[str]] = []
    with jinx.Writer(folder / "in.jinx") as writer, jinx.Writer(folder / "ratings.jinx") as ratings:
        for at in range(400):
            copy = list(rng.choice(texts)) if texts and rng.random() < 0.4 else rng.choices(words, k=40)
            if rng.random() < 0.5:
                copy[rng.randrange(len(copy))] = rng.choice(words)
            texts.append(copy)
            text = " ".join(copy) + (f"\n{MENU}" if at % 2 else "")
            writer.write({"id": f"{at:03}", "text": text, "kind": rng.choice([None, 1, 1.0, "1", [at % 3]])})
            if at % 4:
                ratings.write({"id": f"{399 - at:03}", "stars": at})
    return folder / "in.jinx"


def steps(data: Path) -> list[tuple[str, dict]]:
    """The operators and their parameters; an aggregator follows."""
    return [
        ("document_line_deduplicator", {}),
        ("document_deduplicator", {}),
        ("document_minhash_deduplicator", {"num_permutations": 32}),
        ("join", {"path": str(data.with_name("ratings.jinx")), "on": "id", "how": "inner"}),
        ("topk_specified_field_selector", {"field_key": "stars", "top_ratio": 0.97}),
        ("range_specified_field_selector", {"field_key": "id", "lower_rank": 3, "upper_percentile": 0.98}),
        ("frequency_specified_field_selector", {"field_key": "kind", "topk": 6}),
        ("sort", {"by": ["-len(text)", "-stars"]}),
        ("key_value_grouper", {"group_by_keys": ["kind"]}),
    ]


def chain(data: Path, marker: str = "", hold: str = "") -> Dataset:
    """The recipe; with a marker, a path, each task of a look dies once; for `hold`, see `mortal.py`."""
    jp.load_file(MORTAL)
    more = {"marker": marker, "hold": hold} if marker or hold else {}
    made = [jp.create(f"mortal_{name}", **parameters, **more) for name, parameters in steps(data)]
    return Dataset.load(data).process([*made, jp.create("field_aggregator", columns=TOTALS, separator=" ")])


def alone(data: Path) -> list[list[str]]:
    """The ids of each group, from each operator alone."""
    *before, (grouper, parameters) = steps(data)
    samples = jinx.open(data).to_list()
    for name, item in before:
        samples = jp.create(name, **item)(samples)
    groups = jp.create(grouper, **parameters).groups(jp.Batch(samples))
    return [[sample["id"] for sample in group.samples()] for group in groups]


def divide_much(monkeypatch) -> None:
    """Small partitions; the driver decides how many there are, so workers need not know."""
    monkeypatch.setattr(Partitioned, "most_keys", 100)
    monkeypatch.setattr(Ranked, "most_keys", 50)


def looks_of(work_dir: Path) -> dict[str, int]:
    """Into how many tasks each look was divided, from the log of a run."""
    events = [json.loads(line) for line in (work_dir / "events.jsonl").read_text().splitlines()]
    return {event["operator"]: event["tasks"] for event in events if event.get("work") == "look"}
