"""Lists of words, built-in or from a directory that the user names."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.sample.file_facts import file_facts

BUILT_IN = ("ar", "de", "en", "es", "fr", "hi", "zh")
"""The languages with built-in lists."""


def word_list(kind: str, lang: str, folder: Path | None, operator: str) -> list[str]:
    """The words of a list; `all` combines the lists of all languages.

    Args:
        kind: `stopwords` or `flagged_words`.
        lang: A language, or `all`.
        folder: A directory with files `*KIND*.json` (a dict of lists by language) or `KIND.LANG.txt`; None: the
            built-in lists.
        operator: The name of the operator, for errors.

    Raises:
        ParameterError: There is no list for the language.
    """
    files = word_files(kind, folder or Path(__file__).parent)
    lists = _lists(tuple((file, *file_facts(str(file))) for file in files))
    if lang == "all" and "all" not in lists:
        return [word for words in lists.values() for word in words]
    if lang not in lists:
        location = "built in" if folder is None else f"in {folder}"
        problem = f"no {kind} for {lang!r} {location}; there are: {', '.join(sorted(lists)) or 'none'}"
        raise ParameterError(operator, "lang", problem)
    return lists[lang]


def word_files(kind: str, folder: Path) -> list[Path]:
    """The files of a directory with lists of a kind."""
    return sorted(folder.glob(f"*{kind}*.json")) + sorted(folder.glob(f"{kind}.*.txt"))


@lru_cache(maxsize=16)
def _lists(files: tuple[tuple[Any, ...], ...]) -> dict[str, list[str]]:
    """The lists in files, each with the facts that change when it is edited."""
    lists: dict[str, list[str]] = {}
    for file, *_ in files:
        if file.suffix == ".json":
            read: Any = json.loads(file.read_text(encoding="utf-8"))
            for lang, words in read.items():
                lists.setdefault(lang, []).extend(words)
            continue
        words = file.read_text(encoding="utf-8").split("\n")
        lists.setdefault(file.name.split(".")[-2], []).extend(word.strip() for word in words if word.strip())
    return lists
