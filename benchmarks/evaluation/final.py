"""The figure that most comparisons end in: the RMSE after the last query."""

import numpy as np

from benchmarks.evaluation.methods import Method
from benchmarks.evaluation.protocol import SEEDS_TOGETHER, errors, queries
from benchmarks.evaluation.tasks import Task

__all__ = ["FUNCTIONS", "final_rmse"]

FUNCTIONS = ("sin", "branin", "simionescu", "townsend")


def final_rmse(task: Task, method: Method, seeds: int, budget: int) -> np.ndarray:
    """Of each seed, which start from the same point and meet the same noise for every method."""
    rmse = []
    for first in range(0, seeds, SEEDS_TOGETHER):
        x, y = queries(task, method, range(first, first + SEEDS_TOGETHER), budget)
        rmse.append(errors(task, x, y, np.ones(y.shape, bool)))
    return np.concatenate(rmse)[:seeds]
