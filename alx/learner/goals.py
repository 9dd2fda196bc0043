"""When a run ends: at a number of points, an error, a time, by any function of the learner, or combinations.

Goals combine with ``|`` and ``&``:

    alx.Points(40)                     stops at forty points
    alx.Error(0.5) | alx.Time(3600)    stops at an error of 0.5 or after an hour, whichever comes first
    alx.Points(10) & alx.Error(0.5)    stops at an error of 0.5, but not before ten points
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from alx.learner.checks import as_numbers, as_scalar, as_whole_number, short

__all__ = ["Error", "Goal", "Points", "Time", "as_goal"]


class Goal:
    """Something that a run can reach; ``|`` and ``&`` combine goals, also with a function of the learner."""

    def reached(self, learner: Any, seconds: float) -> bool:
        """Whether the learner has reached the goal, so many seconds into the run."""
        raise NotImplementedError

    def wait(self, seconds: float) -> float:
        """In how many seconds the goal will be reached without any further point."""
        del seconds
        return math.inf

    def __or__(self, other: Any) -> "Goal":
        return _Any(self, as_goal(other))

    def __and__(self, other: Any) -> "Goal":
        return _All(self, as_goal(other))

    __ror__, __rand__ = __or__, __and__


class Points(Goal):
    """Reached once ``n`` points are told, before the run or in it; failed ones count as in the budget."""

    def __init__(self, n: int):
        self.n = as_whole_number("n", n, 1)

    def reached(self, learner: Any, seconds: float) -> bool:
        return learner.spent - len(learner.pending) >= self.n


class Error(Goal):
    """Reached when even the upper end of the estimated error is at most ``rmse``, in the output's unit.

    One number for all outputs, or one for each.
    """

    def __init__(self, rmse: Any):
        self.rmse = as_numbers("rmse", rmse)
        if self.rmse.ndim > 1 or not (self.rmse > 0).all():
            raise ValueError(f"rmse must be positive numbers, got {short(rmse)}")

    def reached(self, learner: Any, seconds: float) -> bool:
        return len(learner.y) > 0 and bool(np.all(learner.error().high <= self.rmse))


class Time(Goal):
    """Reached ``seconds`` after the run began."""

    def __init__(self, seconds: float):
        self.seconds = as_scalar("seconds", seconds)
        if self.seconds < 0:
            raise ValueError(f"seconds must not be negative, got {seconds}")

    def reached(self, learner: Any, seconds: float) -> bool:
        return seconds >= self.seconds

    def wait(self, seconds: float) -> float:
        return max(self.seconds - seconds, 0.0)


class _Own(Goal):
    def __init__(self, function: Callable[[Any], Any]):
        self.function = function

    def reached(self, learner: Any, seconds: float) -> bool:
        return bool(self.function(learner))


class _Any(Goal):
    def __init__(self, *parts: Goal):
        self.parts = parts

    def reached(self, learner: Any, seconds: float) -> bool:
        return any(part.reached(learner, seconds) for part in self.parts)

    def wait(self, seconds: float) -> float:
        return min(part.wait(seconds) for part in self.parts)


class _All(Goal):
    def __init__(self, *parts: Goal):
        self.parts = parts

    def reached(self, learner: Any, seconds: float) -> bool:
        return all(part.reached(learner, seconds) for part in self.parts)

    def wait(self, seconds: float) -> float:
        return max(part.wait(seconds) for part in self.parts)


def as_goal(value: Any) -> Goal:
    """A goal, or a function of the learner as one."""
    if isinstance(value, Goal):
        return value
    if callable(value):
        return _Own(value)
    raise ValueError(f"until must be a goal or a function of the learner, got {short(value)}")
