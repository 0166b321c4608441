"""A worker that has served one run is made fit for the next: nothing of the code of the first one stays."""

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
    """Forget modules, operators and models that a run has loaded, and take the surroundings of the next one.

    Packages that are installed stay imported; code that lies elsewhere is imported anew, since it may have been edited.

    Args:
        environment: The variables of the next run; None: those that this process has.
        folder: Its working directory; one that is not there is not entered.
    """
    from jinx_pipeline.operators.api.context import forget_models
    from jinx_pipeline.operators.api.registry import forget_operators

    installed = tuple(f"{Path(path).resolve()}{os.sep}" for path in _installation())
    # All are looked at before the first is removed: the path of a namespace package depends on the one above it.
    users = [name for name, module in sys.modules.items() if _is_of_user(name, module, installed)]
    # Native code can be loaded once in a process, so a package with some stays, wherever it lies.
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
    # What was loaded for the run was taken from the collector.
    gc.unfreeze()
    gc.collect()


def _installation() -> set[str]:
    paths = sysconfig.get_paths()
    return {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}


def _is_of_user(name: str, module: ModuleType, installed: tuple[str, ...]) -> bool:
    """Whether a module comes from a file that no installation has."""
    if name.partition(".")[0] in _OWN or name == "__main__":
        return False
    file = getattr(module, "__file__", None)
    places = [file] if file else list(getattr(module, "__path__", ()))
    return bool(places) and not any(str(Path(place).resolve()).startswith(installed) for place in places)


def _is_native(module: ModuleType) -> bool:
    return (getattr(module, "__file__", None) or "").endswith(tuple(EXTENSION_SUFFIXES))
