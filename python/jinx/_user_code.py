"""Python files that the user names: the only code of others that is ever run."""

import sys
import traceback
from collections.abc import Mapping
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any


class _AlwaysCompiled(SourceFileLoader):
    """Keeps no compiled file: it would lie next to the user's, and hide an edit within the same second."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        """Say that there is nothing by which a compiled file could be known as up to date."""
        raise OSError(f"{path}: not asked for")


def module_of(path: str, name: str) -> ModuleType:
    """Run a Python file as a module.

    Args:
        path: The file.
        name: Of the module; it stays in `sys.modules`, where classes and pickles look for it.

    Raises:
        Exception: What the file raises.
    """
    loader = _AlwaysCompiled(name, path)
    module = module_from_spec(ModuleSpec(name, loader, origin=path))
    module.__file__ = path
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def run_file(path: str, name: str) -> ModuleType:
    """The same, for people: `ValueError` for all that goes wrong, with the line."""
    if Path(path).suffix != ".py":
        raise ValueError(f"{path}: this is not a Python file")
    try:
        return module_of(path, name)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path}{_line(error, path)}: {type(error).__name__}: {_text(error)}") from error


def _line(error: BaseException, path: str) -> str:
    if isinstance(error, SyntaxError):
        number = error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        number = next((frame.lineno for frame in reversed(frames) if frame.filename == path), None)
    return "" if number is None else f", line {number}"


def _text(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error)
