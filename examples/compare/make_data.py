"""Make a dataset for `jinx-pipeline compare`: reviews, of which short ones have wrong labels.

Usage: python make_data.py OUT
"""

import random
import sys

import jinx

GOOD, BAD = ("great", "lovely", "superb", "fine"), ("awful", "poor", "broken", "sad")
FILL = [f"word{number}" for number in range(200)]

HALF, WRONG = 0.5, 0.8

rng = random.Random(0)
with jinx.Writer(sys.argv[1]) as writer:
    for number in range(3000):
        label = rng.random() < HALF
        words = rng.choices(GOOD if label else BAD, k=2)
        is_test = number % 5 == 0
        # Half of the training data is short, and most of its labels are wrong.
        is_short = not is_test and rng.random() < HALF
        words += rng.choices(FILL, k=2 if is_short else 12)
        rng.shuffle(words)
        shown = label != (is_short and rng.random() < WRONG)
        writer.write({"text": " ".join(words), "label": int(shown), "test": is_test})
