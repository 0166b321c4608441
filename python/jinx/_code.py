"""Python functions in files that the user names."""

import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any


def load_function(place: str) -> Callable[..., Any]:
    """The function that `file.py:function` names. The file runs; nothing else does.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The text is not of this form, or the file has no such function.
    """
    file, colon, name = place.rpartition(":")
    if not colon or not file or not name.isidentifier():
        raise ValueError(f"{place!r} does not name a function; write file.py:function")
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"{file}: no such file (in {place!r})")
    # By its path, so that two files of one name are two modules, and that workers find the same one again.
    module_name = f"jinx_code_{path.resolve()}"
    if module_name not in sys.modules:
        spec = spec_from_file_location(module_name, path)
        if spec is None or spec.loader is None:
            raise ValueError(f"{file}: this is not a Python file; its name must end in .py")
        module = module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[module_name]
            raise
    found = getattr(sys.modules[module_name], name, None)
    if not callable(found):
        raise ValueError(f"{file}: there is no function {name!r} in this file")  # noqa: TRY004 - the user named it
    return found
