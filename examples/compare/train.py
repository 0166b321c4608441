"""Train a small classifier on the texts of a dataset: logistic regression on hashed words, by gradient descent.

Usage: python train.py DATA SAMPLES SEED OUT
"""

import sys
from pathlib import Path

import numpy as np
from features import features

import jinx

data, samples, seed, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
rows = [row for row in jinx.open(data) if not row["test"]]
inputs = features([row["text"] for row in rows])
labels = np.array([row["label"] for row in rows], dtype=np.float64)
rng = np.random.default_rng(seed)
weights = np.zeros(inputs.shape[1])
for start in range(0, samples, 16):
    chosen = rng.integers(0, len(rows), size=min(16, samples - start))
    expected = 1 / (1 + np.exp(-inputs[chosen] @ weights))
    weights += 0.3 * inputs[chosen].T @ (labels[chosen] - expected) / len(chosen)
np.save(out / "weights.npy", weights)
