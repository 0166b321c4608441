"""Every operator that needs no model next to Data-Juicer 1.6.1 on 1,000 mixed documents: equal, or why not.

python -m bench.operators.compare
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.environments import ROOT, python_of
from bench.operators.cases import Case, cases, samples_of
from bench.operators.documents import mixed_documents
from bench.operators.near_cases import explained
from bench.operators.ours import results
from bench.operators.reasons import Document, reasons_for

_HASHES = "Theirs and ours use different hash functions, so pairs near the threshold are found by one of them alone."
_SHORT = "Theirs takes all texts with fewer words than a shingle for copies of one another."
_NO_LETTERS = "Theirs takes all texts without letters for copies of one another."
_NO_TEXT = "Theirs takes all texts of white space alone for copies of one another. Ours keeps each sample."


@dataclass
class Outcome:
    """What came out of a case.

    Attributes:
        case: The operator and its parameters.
        documents: How many there were.
        different: How many results differ.
        decided: Of a filter: how many samples the default bounds keep here and drop there, or the other way round.
        reasons: Why, and for how many; a document may have several.
        unexplained: The positions of documents that no reason explains.
    """

    case: str
    documents: int
    different: int = 0
    decided: int = 0
    reasons: dict[str, int] = field(default_factory=dict[str, int])
    unexplained: list[int] = field(default_factory=list[int])


def same(first: Any, second: Any) -> bool:
    """Whether results are equal; numbers up to rounding, a statistic that is missing like one that is None."""
    if isinstance(first, dict) and isinstance(second, dict):
        return all(same(first.get(name), second.get(name)) for name in first.keys() | second.keys())
    if isinstance(first, float) or isinstance(second, float):
        return first is not None and second is not None and abs(first - second) <= 1e-12 * max(1.0, abs(first))
    return first == second


def compared(case: Case, theirs: Any, ours: Any, samples: list[dict[str, Any]], special: frozenset[str]) -> Outcome:
    """Count the differences of a case, and the reasons."""
    outcome = Outcome(case.title, len(samples))
    reasons: Counter[str] = Counter()
    if case.kind in ("stats", "text", "texts", "line"):
        for at, (sample, their_result, our_result) in enumerate(zip(samples, theirs, ours, strict=True)):
            if same(their_result, our_result):
                continue
            outcome.different += 1
            is_stats = case.kind == "stats" and isinstance(their_result, dict)
            outcome.decided += is_stats and their_result["kept"] != our_result["kept"]
            found = reasons_for(case.operator, Document(sample["text"], their_result, our_result, special))
            reasons.update(reason.what for reason in found)
            if not found:
                outcome.unexplained.append(at)
    elif case.kind == "kept":
        differing = sorted(set(theirs) ^ set(ours))
        outcome.different = len(differing)
        _explain_kept(case, differing, samples, outcome, reasons)
    elif theirs != ours:
        outcome.different, outcome.unexplained = len(samples), [0]
    outcome.reasons = dict(reasons)
    return outcome


def _explain_kept(
    case: Case, differing: list[int], samples: list[dict[str, Any]], outcome: Outcome, reasons: Counter[str]
) -> None:
    texts = [sample["text"] for sample in samples]
    blank = [at for at in differing if not texts[at].strip()] if case.operator.startswith("document_") else []
    reasons[_NO_TEXT] += len(blank)
    differing = [at for at in differing if at not in blank]
    known: list[int] = []
    if case.operator == "document_deduplicator":
        known = [at for at in differing if not any(map(str.isalpha, texts[at]))]
        reasons[_NO_LETTERS] += len(known)
    elif case.operator in ("document_minhash_deduplicator", "document_simhash_deduplicator"):
        window = 6 if "simhash" in case.operator else 5
        by_character = case.parameters.get("tokenization") == "character"
        known = explained(texts, differing, window, by_character=by_character)
        short = [at for at in known if len(texts[at] if by_character else texts[at].split(" ")) < window]
        reasons[_SHORT] += len(short)
        reasons[_HASHES] += len(known) - len(short)
    outcome.unexplained += sorted(set(differing) - set(known))
    for reason in [reason for reason, count in reasons.items() if not count]:
        del reasons[reason]


def word_lists(folder: Path) -> None:
    """Our lists as files that both read."""
    from jinx_pipeline.operators.text.words import BUILT_IN, word_list

    for kind in ("stopwords", "flagged_words"):
        lists = {lang: word_list(kind, lang, None, "") for lang in BUILT_IN}
        lists["all"] = [word for words in lists.values() for word in words]
        (folder / f"{kind}.json").write_text(json.dumps(lists), encoding="utf-8")


def run(documents: int) -> list[Outcome]:
    """All cases."""
    samples = samples_of(mixed_documents(documents))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "words").mkdir()
        word_lists(folder / "words")
        chosen = cases(str(folder / "words"))
        job, answer = folder / "job.json", folder / "answer.json"
        job.write_text(json.dumps({"cases": [asdict(case) for case in chosen], "samples": samples}))
        subprocess.run(
            [python_of("datajuicer"), "-m", "bench.operators.theirs", job, answer],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        found = json.loads(answer.read_text(encoding="utf-8"))
        special = frozenset(found["special"])
        outcomes: list[Outcome] = []
        for case, theirs in zip(chosen, found["results"], strict=True):
            if isinstance(theirs, str):
                raise RuntimeError(f"{case.title}: {theirs}")  # noqa: TRY004 - its own error as text
            ours = results(case.operator, case.parameters, case.kind, samples)
            outcomes.append(compared(case, theirs, ours, samples, special))
        return outcomes


def table(outcomes: list[Outcome]) -> str:
    """The comparison as Markdown."""
    rows = ["| operator | documents | different | kept differently |", "|---|--:|--:|--:|"]
    rows += [
        f"| `{outcome.case}` | {outcome.documents:,} | {outcome.different or '0'} | {outcome.decided} |"
        for outcome in outcomes
    ]
    parts = ["\n".join(rows), "### Why results differ"]
    parts += [
        f"- `{outcome.case}`: "
        + " ".join(f"{what} ({count})" for what, count in sorted(outcome.reasons.items(), key=lambda pair: -pair[1]))
        + (f" **Not explained: {len(outcome.unexplained)}.**" if outcome.unexplained else "")
        for outcome in outcomes
        if outcome.different
    ]
    return "\n\n".join(parts[:2]) + "\n\n" + "\n".join(parts[2:]) + "\n"


def main() -> None:
    """Command line; ends with 1 where a difference has no reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=1000)
    options = parser.parse_args()
    outcomes = run(options.documents)
    print(table(outcomes))
    sys.exit(any(outcome.unexplained for outcome in outcomes))


if __name__ == "__main__":
    main()
