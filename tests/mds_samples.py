"""MDS samples with a column of every usual kind."""

from typing import Any

import numpy as np

COLUMNS = {"id": "int", "text": "str", "data": "bytes", "value": "float32", "meta": "json", "grid": "ndarray"}
COUNT = 60


def sample(k: int) -> dict[str, Any]:
    return {
        "id": k,
        "text": f"text {k}",
        "data": bytes([k % 256]) * (k % 9 * 4000),
        "value": np.float32(k / 2),
        "meta": {"k": [k]},
        "grid": np.full((k % 3 + 1, 2), k, np.int16),
    }
