"""Python files that the user names: the only code of others that is ever run."""

import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType


def run_file(path: str, name: str) -> ModuleType:
    """Run a Python file as a module.

    Args:
        path: The file.
        name: Of the module; it stays in `sys.modules`, where classes and pickles look for it.

    Raises:
        ValueError: It is not Python, or raises an error; the message says at which line.
    """
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path}: this is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ValueError(f"{path}{_line(error, path)}: {type(error).__name__}: {_text(error)}") from error
    return module


def _line(error: BaseException, path: str) -> str:
    if isinstance(error, SyntaxError):
        number = error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        number = next((frame.lineno for frame in reversed(frames) if frame.filename == path), None)
    return "" if number is None else f", line {number}"


def _text(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error)
