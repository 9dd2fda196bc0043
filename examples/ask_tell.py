"""Measure a function in its own units: python examples/ask_tell.py"""

import numpy as np

import alx


def measure(x: np.ndarray) -> float:
    """Something slow and costly in degrees and bar, with readings around 50,000."""
    return 50_000 + 1_000 * float(np.sin(x[0] / 2) + np.cos(x[1] / 3))


learner = alx.Learner(bounds=[(-5, 10), (0, 15)], budget=20)
while learner.remaining:
    x = learner.ask()
    learner.tell(x, measure(x))
print(np.column_stack([learner.x, learner.y]))
