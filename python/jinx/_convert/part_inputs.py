"""Requires that all parts of a dataset are made from the same inputs, of which each part takes its share.

The directory of the parts holds an empty file whose name has a hash of inputs and options, so that processes on several
machines agree without a lock. `merge` removes it.
"""

import hashlib
import json
import os
from pathlib import Path

from jinx._convert.inputs import Inputs
from jinx._convert.options import Settings
from jinx._files.merge import INPUTS_OF_PARTS, inputs_of_parts
from jinx.errors import MismatchError

# Options that may differ between parts, because the samples do not depend on them.
_FREE = frozenset({"append", "media_dir", "overwrite", "rejects", "resume", "threads"})


def require_same_inputs(directory: str, inputs: Inputs, settings: Settings) -> None:
    """Refuse a part with other input files or other options than the parts before it.

    Raises:
        MismatchError: The parts in the directory have other inputs or options.
    """
    marker = Path(directory, INPUTS_OF_PARTS + _hash(inputs, settings))
    is_new = not marker.exists()
    marker.touch()
    if inputs_of_parts(directory) != [marker.name]:
        if is_new:
            marker.unlink()
        raise MismatchError(
            f"{directory}: the parts in this directory are made of other input files or with other options, so that "
            "samples would be missing or appear twice; repeat the same command for every part, or remove the directory "
            "and write all of them again"
        )


def _hash(inputs: Inputs, settings: Settings) -> str:
    files = [os.path.abspath(file) for file in inputs.files]  # noqa: PTH100 - str in, str out
    # Another machine may have the files at another path.
    folder = os.path.commonpath([os.path.dirname(file) for file in files])  # noqa: PTH120
    names = [os.path.relpath(file, folder) for file in files]
    parts = settings.part and settings.part[1]
    options = {name: value for name, value in settings.core.items() if name not in _FREE}
    asked = [names, inputs.format, options, settings.embed, settings.missing, parts]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]
