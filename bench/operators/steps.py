"""The steps that are timed: a name, the operator, and which part of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        name: As in the table of targets.
        operator: Its name.
        part: `stats`, `text`, `hash` or `cluster`.
        target: How many times as many documents per CPU second as Data-Juicer are wanted.
        where: Where our time goes.
    """

    name: str
    operator: str
    part: str
    target: float
    where: str


STEPS = (
    Step("text_length", "text_length_filter", "stats", 20, "counting bytes that start a character, and the handover"),
    Step(
        "whitespace",
        "whitespace_normalization_mapper",
        "text",
        20,
        "looking at each character; edited texts become Python strings",
    ),
    Step("alphanumeric", "alphanumeric_filter", "stats", 20, "a bit table, one look for each character"),
    Step("words_num", "words_num_filter", "stats", 20, "white space and the ends of words, character by character"),
    Step(
        "character_repetition",
        "character_repetition_filter",
        "stats",
        25,
        "a hash table of n-grams in the caches of the core",
    ),
    Step("word_repetition", "word_repetition_filter", "stats", 20, "cutting words, a hash for each"),
    Step(
        "MinHash hashing",
        "document_minhash_deduplicator",
        "hash",
        30,
        "256 permutations of each shingle, eight at a time",
    ),
    Step("clustering", "document_minhash_deduplicator", "cluster", 20, "sorting the keys of each band, union-find"),
)
