"""What a learner says of a function, held against the truth: how often its intervals hold, and its error.

Everything is asked of `alx.Learner` itself, as a user would ask it. Whatever is random depends on the
function alone, so that every policy meets the same points and noise.
"""

from typing import NamedTuple

import numpy as np

import alx
from alx.network.policy import Policy
from benchmarks.evaluation.methods import generator
from benchmarks.evaluation.tasks import Task

__all__ = ["DESIGNS", "LEVELS", "PLACES", "SIZES", "Design", "Said", "labels", "log_rmse", "points", "said"]

SIZES = (8, 20, 40)  # points
LEVELS = (0.5, 0.8, 0.9, 0.98)
PLACES = 256  # where truth and model are compared
SEED = 0


class Design(NamedTuple):
    """Where the points come from, and the noise on them: uniform ones, or queries of the policy."""

    uniform: bool
    noise: float


DESIGNS = {"uniform": Design(True, 0.1), "policy": Design(False, 0.1), "exact": Design(True, 0.0)}


class Said(NamedTuple):
    """One learner with so many points.

    Attributes:
        points: how many.
        log_rmse: log of the root-mean-square error of its mean.
        log_estimate: log of what it says that error is.
        covered: share of places where the truth lies in the interval of each level.
    """

    points: int
    log_rmse: float
    log_estimate: float
    covered: tuple[float, ...]


def points(task: Task, design: Design) -> tuple[np.ndarray, np.ndarray]:
    """The uniform points of a task ``[n, D]``, as many as the largest size, and the noise there ``[n]``."""
    random = generator(task.name, SEED, task.dim, "coverage")
    x = random.random((SIZES[-1], task.dim))
    return x, design.noise * random.standard_normal(SIZES[-1])


def said(policy: Policy, task: Task, design: Design) -> list[Said]:
    """What the learner says at each size."""
    x, noise = points(task, design)
    box = [(0.0, 1.0)] * task.dim
    if design.uniform:
        found = []
        for n in SIZES:
            learner = alx.Learner(policy, box)
            learner.tell(x[:n], labels(task, x[:n]) + noise[:n])
            found.append(_against(task, learner))
        return found
    learner, found = alx.Learner(policy, box), []
    for n, off in enumerate(noise, 1):
        at = learner.ask()
        learner.tell(at, float(labels(task, at[None])[0] + off))
        if n in SIZES:
            found.append(_against(task, learner))
    return found


def _against(task: Task, learner: alx.Learner) -> Said:
    at, truth = task.test_x[:PLACES], task.test_y[:PLACES]
    mean, _ = learner.predict(at)
    covered = []
    for level in LEVELS:
        low, high = learner.interval(at, level)
        covered.append(float(np.mean((low <= truth) & (truth <= high))))
    estimate = float(learner.error().rmse)
    return Said(len(learner.y), log_rmse(mean, truth), float(np.log(estimate)), tuple(covered))


def labels(task: Task, x: np.ndarray) -> np.ndarray:
    """The function without noise."""
    assert task.truth is not None
    return task.truth(x)


def log_rmse(mean: np.ndarray, truth: np.ndarray) -> float:
    """log of the root-mean-square error."""
    return float(np.log(np.sqrt(np.mean(np.square(mean - truth)))))
