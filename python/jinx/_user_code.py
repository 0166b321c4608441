"""Runs Python files that the user names; no other outside code is ever run."""

import sys
import traceback
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any


class _AlwaysCompiled(SourceFileLoader):
    """Stores no compiled file: it would be next to the user's file, and hide an edit within the same second."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        """Raise OSError, so that importlib finds no compiled file up to date and writes none."""
        raise OSError(f"{path}: not asked for")


def module_of(path: str, name: str) -> ModuleType:
    """Run a Python file as a module.

    Args:
        path: The file.
        name: The name of the module. It stays in `sys.modules`, where pickle looks for the classes of the file.

    Raises:
        Exception: Any error that the file raises.
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
    """Like `module_of`, but every failure is a `ValueError` that names the line."""
    if Path(path).suffix != ".py":
        raise ValueError(f"{path}: this is not a Python file")
    try:
        return module_of(path, name)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path}{_line(error, path)}: {type(error).__name__}: {_text(error)}") from error


class FileFunction:
    """A function of a Python file. Processes that unpickle it run the file themselves, under the same name.

    Args:
        path: The file; it is run.
        name: The name of the function.

    Raises:
        AttributeError: The file defines no such name.
        TypeError: The name is not a function.
        ValueError: The file cannot be run.
    """

    def __init__(self, path: str, name: str) -> None:
        self.__qualname__ = name
        self._path = path
        self._function: Callable[..., Any] = getattr(run_file(path, Path(path).stem), name)
        if not callable(self._function):
            raise TypeError(f"{path}: {name!r} is not a function")

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        return self._function

    def __reduce__(self) -> tuple[type["FileFunction"], tuple[str, str]]:
        return type(self), (self._path, self.__qualname__)

    def __call__(self, *given: Any) -> Any:
        return self._function(*given)


def _line(error: BaseException, path: str) -> str:
    if isinstance(error, SyntaxError):
        number = error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        number = next((frame.lineno for frame in reversed(frames) if frame.filename == path), None)
    return "" if number is None else f", line {number}"


def _text(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error)
