"""The characters of a sample: the people or figures in its images or videos, which operators name and look for."""

from collections.abc import Mapping
from typing import Any, Final

from jinx_pipeline.operators.api.metadata import metadata_of

CHARACTERS: Final = "main_character_list"
"""The column, or the entry of `__dj__meta__`, with the names of the characters of a sample."""


def characters_of(sample: Mapping[str, Any]) -> list[str]:
    """The names of a sample's characters, each once, from the column or from the facts about the sample.

    Raises:
        TypeError: They are not a list of strings.
    """
    found = sample.get(CHARACTERS)
    if found is None:
        found = metadata_of(sample).get(CHARACTERS)
    if found is None:
        return []
    if not isinstance(found, list | tuple) or not all(isinstance(name, str) for name in found):  # pyright: ignore[reportUnknownVariableType]
        raise TypeError(f"{CHARACTERS} is not a list of strings: {found!r:.60}")
    return list(dict.fromkeys(name for name in found if name.strip()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
