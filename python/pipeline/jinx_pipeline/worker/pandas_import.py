"""Hides pandas from pyarrow, which would import it to convert the first list: 0.3 s and 27 MB in each worker."""

import sys
from importlib.abc import MetaPathFinder
from typing import Any

_OWN = "jinx_pipeline.operators."
_CODE_OF_USERS = "jinx_pipeline.operators.script."


def is_spared(modules: list[str]) -> bool:
    """Whether operators from these modules run no user code, which might need pandas through pyarrow."""
    return all(name.startswith(_OWN) and not name.startswith(_CODE_OF_USERS) for name in modules)


def spare() -> None:
    """Hide pandas from pyarrow in this process; other code can still import it."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    finder = _Hidden()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


class _Hidden(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        del path, target
        if fullname == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
