"""A recipe with every form of node and flow, and its data."""

from pathlib import Path

import jinx

CLEAN = """\
parameters: {least: {type: int, default: 2}}
nodes:
  strip: {operators: [clean_links_mapper]}
  long: {operators: [words_num_filter: {min_num: "${least}"}]}
flows: [{from: strip, to: long}]
inputs: {in: strip}
outputs: {kept: long.kept, rejected: long.dropped}
"""

RECIPE = """\
parameters: {language: en, least: 3}
nodes:
  web: {source: web.jinx}
  books: {source: {path: books.jinx, max_samples: 30}}
  scores: {source: scores.jinx}
  clean: {include: clean.yaml, with: {least: "${least}"}}
  cleaned: {sink: {path: cleaned.jinx, keep_stats: false}}
  dedup: {operators: [document_deduplicator]}
  scored: {join: {on: id, how: left}}
  mixed: {operators: [whitespace_normalization_mapper], after: [scores]}
  good: {sink: good.jinx}
  rejected: {sink: rejected}
  german: {sink: german.jinx, when: {parameter: language, is: de}}
  many: {sink: many.jinx, when: {rows: clean.rejected, at_least: 1000}}
  few: {sink: few.jsonl, when: {rows: clean.rejected, at_least: 1}}
flows:
  - {from: [web, books], to: clean}
  - {from: clean, to: cleaned}
  - {from: cleaned, to: dedup}
  - {from: dedup, to: scored.left}
  - {from: scores, to: scored.right}
  - {from: scored, to: mixed, weight: 3}
  - {from: clean.rejected, to: mixed, weight: 1}
  - {from: mixed, to: good}
  - {from: clean.rejected, to: [rejected, many, few]}
  - {from: mixed, to: german}
block_rows: 25
reorder: false
"""
OUTPUTS = ("cleaned.jinx", "good.jinx", "rejected", "many.jinx", "few.jsonl")


def write_data(folder: Path) -> Path:
    """Write the inputs and the recipe; returns the path of the recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    with jinx.Writer(folder / "web.jinx") as writer:
        writer.write_many(row(n, "word") for n in range(60))
    with jinx.Writer(folder / "books.jinx") as writer:
        writer.write_many(row(n, "book") for n in range(100, 140))
    with jinx.Writer(folder / "scores.jinx") as writer:
        writer.write_many({"id": f"k{n}", "score": n * n} for n in range(5))
    (folder / "clean.yaml").write_text(CLEAN)
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE)
    return recipe


def row(n: int, word: str) -> dict[str, object]:
    """A row with so many words, of which every sixth is a link too."""
    link = " https://example.org/x" if n % 6 == 0 else ""
    return {"n": n, "id": f"k{n % 7}", "text": " ".join([word + "abcdefghijk"[n % 11]] * (n % 5 + 1)) + link}
