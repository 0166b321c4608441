"""A recipe with every form of node and flow, and its data."""

import sqlite3
from contextlib import closing
from pathlib import Path

import jinx

CLEAN = """\
parameters: {least: {type: int, default: 2}}
nodes:
  strip: {operators: [clean_links_mapper]}
  long: {operators: [words_num_filter: {min_num: "${least}"}]}
flows: [{from: strip, to: long}]
inputs: {in: strip}
outputs: {kept: long.kept, rejected: long.dropped, failed: strip.failed}
"""

RECIPE = """\
parameters: {language: en, least: 3}
nodes:
  web: {source: web.jinx}
  books: {source: {path: books.jinx, max_samples: 30}}
  scores:
    source: {database: facts.db, query: "SELECT id, score FROM scores ORDER BY id", columns: {id: str, score: int}}
  clean: {include: clean.yaml, with: {least: "${least}"}}
  cleaned: {sink: {path: cleaned.jinx, keep_stats: false}}
  listed: {sink: {database: meta.db, table: cleaned, key: n, columns: {n: int, words: "int:__dj__stats__.num_words"}}}
  dedup: {operators: [document_deduplicator]}
  scored: {join: {on: id, how: left}}
  mixed: {operators: [whitespace_normalization_mapper], after: [scores]}
  good: {sink: good.jinx}
  rejected: {sink: rejected}
  german: {sink: german.jinx, when: {parameter: language, is: de}}
  many: {sink: many.jinx, when: {rows: clean.rejected, at_least: 1000}}
  broken: {sink: broken.jinx}
  few: {sink: few.jsonl, when: {rows: clean.rejected, at_least: 1}}
  parts: {operators: [text_chunk_mapper: {split_pattern: " "}]}
  words: {sink: words.parquet}
  stored:
    source: {database: meta.db, query: SELECT n FROM cleaned ORDER BY n, columns: {n: int}}
    after: [listed]
  numbers: {sink: numbers.jinx, when: {parameter: language, in: [en, fr]}}
flows:
  - {from: [web, books], to: clean}
  - {from: clean, to: cleaned}
  - {from: cleaned, to: listed}
  - {from: listed, to: dedup}
  - {from: dedup, to: scored.left}
  - {from: scores, to: scored.right}
  - {from: scored, to: mixed, weight: 3}
  - {from: clean.rejected, to: mixed, weight: 1}
  - {from: mixed, to: good}
  - {from: clean.rejected, to: [rejected, many, few]}
  - {from: mixed, to: german}
  - {from: clean.failed, to: broken}
  - {from: clean.rejected, to: parts}
  - {from: parts.clips, to: words}
  - {from: stored, to: numbers}
max_bad_rows: 1
block_rows: 25
reorder: false
"""
OUTPUTS = (
    "cleaned.jinx",
    "good.jinx",
    "rejected",
    "many.jinx",
    "broken.jinx",
    "few.jsonl",
    "words.parquet",
    "numbers.jinx",
)

BROKEN = 60
"""The number of a row whose text is no text."""


def write_data(folder: Path) -> Path:
    """Write the inputs and the recipe; returns the path of the recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    with jinx.Writer(folder / "web.jinx") as writer:
        writer.write_many(row(n, "word") for n in range(60))
        writer.write({"n": BROKEN, "id": "k0", "text": 7})
    with jinx.Writer(folder / "books.jinx") as writer:
        writer.write_many(row(n, "book") for n in range(100, 140))
    with closing(sqlite3.connect(folder / "facts.db")) as database, database:
        database.execute("CREATE TABLE scores (id TEXT PRIMARY KEY, score INTEGER)")
        database.executemany("INSERT INTO scores VALUES (?, ?)", [(f"k{n}", n * n) for n in range(5)])
    (folder / "clean.yaml").write_text(CLEAN)
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE)
    return recipe


def listed(folder: Path) -> list[tuple[object, ...]]:
    """The rows of the table."""
    with closing(sqlite3.connect(folder / "meta.db")) as database:
        return database.execute("SELECT * FROM cleaned ORDER BY n").fetchall()


def row(n: int, word: str) -> dict[str, object]:
    """A row with so many words, of which every sixth is a link too."""
    link = " https://example.org/x" if n % 6 == 0 else ""
    return {"n": n, "id": f"k{n % 7}", "text": " ".join([word + "abcdefghijk"[n % 11]] * (n % 5 + 1)) + link}
