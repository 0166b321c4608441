"""Resets a worker between two runs: no code of the first run stays."""

import gc
import os
import sys
import sysconfig
from collections.abc import Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

_OWN = ("jinx", "jinx_pipeline")


def forget_run(environment: Mapping[str, str] | None, folder: str) -> None:
    """Forget the modules, operators and models of a run, and set the environment of the next one.

    Installed packages stay imported; other code is imported again, since it may have been edited.

    Args:
        environment: The variables of the next run; None: keep those of this process.
        folder: Its working directory; ignored if it does not exist.
    """
    from jinx_pipeline.operators.api.context import forget_models
    from jinx_pipeline.operators.api.registry import forget_operators

    installed = tuple(f"{Path(path).resolve()}{os.sep}" for path in _installation())
    # Check all modules before removing any: the path of a namespace package depends on its parent.
    users = [name for name, module in sys.modules.items() if _is_of_user(name, module, installed)]
    # Native code can be loaded only once per process, so packages with native modules stay.
    native = {name.partition(".")[0] for name in users if _is_native(sys.modules[name])}
    for name in users:
        if name.partition(".")[0] not in native:
            del sys.modules[name]
    forget_operators(lambda module: module not in sys.modules)
    forget_models()
    if environment is not None:
        os.environ.clear()
        os.environ.update(environment)
    if Path(folder).is_dir():
        os.chdir(folder)
    # `TaskRunner.load_work` froze the objects of the run.
    gc.unfreeze()
    gc.collect()


def _installation() -> set[str]:
    paths = sysconfig.get_paths()
    return {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}


def _is_of_user(name: str, module: ModuleType, installed: tuple[str, ...]) -> bool:
    """Whether a module comes from a file outside the installation."""
    if name.partition(".")[0] in _OWN or name == "__main__":
        return False
    file = getattr(module, "__file__", None)
    places = [file] if file else list(getattr(module, "__path__", ()))
    return bool(places) and not any(str(Path(place).resolve()).startswith(installed) for place in places)


def _is_native(module: ModuleType) -> bool:
    return (getattr(module, "__file__", None) or "").endswith(tuple(EXTENSION_SUFFIXES))
