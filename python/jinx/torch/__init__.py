"""For PyTorch, for which a dataset is a map-style dataset: `collate` makes batches, `Loader` reads ahead."""

from jinx._optional import require

require("torch", extra="torch", what="jinx.torch")  # before the modules that import it

from jinx.torch._collate import collate  # noqa: E402
from jinx.torch._loader import Loader  # noqa: E402

__all__ = ["Loader", "collate"]
