"""Which operators a service runs for anyone, and which parameters contain file names.

Both err on the side of refusing: an operator of another package, and one with a parameter for a URL, counts as one that
reaches beyond the samples.
"""

import re
from pathlib import Path
from typing import Any, Final, Literal, get_args

from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import hints_of

_PACKAGE: Final = "jinx_pipeline.operators."
# Groups of operators that connect to servers or run code.
_REACHING: Final = frozenset({"remote", "script", "llm"})
_URLS: Final = re.compile(r"api(_.*)?|endpoint_.*|(.*_)?(urls?|endpoint|hosts?)")
_READ: Final = re.compile(r"(hf_.*|(.*_)?(dir|file|path|paths|model|tokenizer|tokenizer_model|classifier))")
_WRITTEN: Final = re.compile(r"save_dir|frame_dir|output_.*dir")


def why_trusted(cls: type[Operator]) -> str:
    """Why an operator needs permission from the person who runs the service; empty if it needs none."""
    if cls.trust:
        return cls.trust
    if not cls.__module__.startswith(_PACKAGE):
        return "is not part of jinx-pipeline"
    is_remote = cls.__module__.removeprefix(_PACKAGE).partition(".")[0] in _REACHING
    names = [name for name, hint in hints_of(cls).items() if str in _types_in(hint)]
    return "connects to servers or runs code" if is_remote or any(map(_URLS.fullmatch, names)) else ""


def file_parameters(cls: Any) -> dict[str, Literal["read", "written"]]:
    """The parameters of an operator that contain files or directories, and whether these are read or written."""
    found: dict[str, Literal["read", "written"]] = {}
    for name, hint in hints_of(cls).items():
        kinds = _types_in(hint)
        if _WRITTEN.fullmatch(name):
            found[name] = "written"
        elif Path in kinds or (str in kinds and _READ.fullmatch(name)):
            found[name] = "read"
    return found


def _types_in(hint: Any) -> set[Any]:
    """The types of which a type consists."""
    arguments = get_args(hint)
    return {hint} if not arguments else set().union(*map(_types_in, arguments))
