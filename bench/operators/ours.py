"""Our results, in the form of `bench.operators.theirs`."""

from typing import Any

from jinx_pipeline.operators.api.registry import create


def results(operator: str, parameters: dict[str, Any], kind: str, samples: list[dict[str, Any]]) -> Any:
    """What an operator makes of samples.

    Returns:
        For `stats` a dict for each sample, with whether it is `kept`; for `text` the text of each sample and for
        `texts` a list of them; for `kept` the numbers of the samples left; for `line` the texts of those left; for
        `size` how many they are; for `groups` a list of numbers for each group.
    """
    made = create(operator, **parameters)
    if kind == "stats":
        kept = {sample["number"] for sample in made(samples)}
        rows = made(samples, keep_stats=True, drop=False)
        return [{**row["__dj__stats__"], "kept": row["number"] in kept} for row in rows]
    found: Any = made(samples)
    if kind in ("text", "line"):
        return [row["text"] for row in found]
    if kind == "texts":
        texts: list[list[str]] = [[] for _ in samples]
        for row in found:
            texts[row["number"]].append(row["text"])
        return texts
    if kind == "groups":
        return [row["number"] for row in found]
    return len(found) if kind == "size" else sorted(row["number"] for row in found)
