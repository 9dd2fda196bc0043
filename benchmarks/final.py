"""The figure that most comparisons end in: the RMSE after the last query, averaged over paired seeds."""

import statistics

from benchmarks.methods import Method
from benchmarks.protocol import SEEDS_TOGETHER, run
from benchmarks.tasks import Task

__all__ = ["FUNCTIONS", "final_rmse"]

FUNCTIONS = ("sin", "branin", "simionescu", "townsend")


def final_rmse(task: Task, method: Method, seeds: int, budget: int) -> float:
    """The mean over the seeds, which start from the same point and meet the same noise for every method."""
    rmse = []
    for first in range(0, seeds, SEEDS_TOGETHER):
        group = range(first, min(first + SEEDS_TOGETHER, seeds))
        rmse += [row["rmse"][-1] for row in run(task, method, group, budget)]
    return statistics.mean(rmse)
