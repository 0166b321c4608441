"""Print the accuracy of a classifier on the test rows.

Usage: python evaluate.py DATA OUT
"""

import json
import sys
from pathlib import Path

import numpy as np
from features import features

import jinx

rows = [row for row in jinx.open(sys.argv[1]) if row["test"]]
weights = np.load(Path(sys.argv[2]) / "weights.npy")
labels = np.array([row["label"] for row in rows])
right = (features([row["text"] for row in rows]) @ weights > 0) == (labels == 1)
print(json.dumps({"score": float(right.mean())}))
