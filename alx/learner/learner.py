"""Ask and tell in the user's own units: any box, raw outputs, NumPy in and out."""

import os
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from alx.io.store import load
from alx.learner import file as learner_file
from alx.learner.checks import (
    as_bounds,
    as_numbers,
    as_points,
    as_rows,
    as_scalar,
    as_whole_number,
    tolerance,
)
from alx.learner.compiled import compiled
from alx.learner.standardise import standardise
from alx.learner.state import Experiment
from alx.network.policy import Policy, PolicyConfig
from alx.propose import LARGEST_Y, keep_apart, nearest, notice_capacity

__all__ = ["Learner"]

# The memory of attention grows with the square of the points: two gigabytes at this number.
LARGEST_BUDGET = 4096


class Learner:
    """One experiment: ``ask`` where to measure next, ``tell`` what was measured.

        learner = alx.Learner("dim2-T20", bounds=[(-5, 10), (0, 15)])
        for _ in range(20):
            x = learner.ask()
            learner.tell(x, measure(x))

    Points asked for and not told yet are pending: the next ``ask`` takes them as if measured, with the output
    of the nearest point, and keeps away from them. Tell in any order, points of your own as well. Telling
    the same point with the same output twice counts once; with another output it is one more measurement.
    Whatever is refused raises a ValueError and changes nothing.

    Args:
        policy: a shipped name, the path of a policy file, or a policy.
        bounds: a (low, high) pair for each input. With a pool they may be left out: then its own range.
        y_mean: the mean of the outputs over the box if it is known, else it is estimated as they come.
        y_std: their standard deviation if it is known, likewise.
        pool: ask only for rows of this array ``[N, D]``, none of them twice.
        budget: the number of points in all, told and pending; what the policy was trained for by default.
    """

    def __init__(
        self,
        policy: Policy | str | os.PathLike,
        bounds: Any = None,
        *,
        y_mean: float | None = None,
        y_std: float | None = None,
        pool: Any = None,
        budget: int | None = None,
    ):
        self.policy = policy if isinstance(policy, Policy) else load(policy)
        config = self.policy.config
        self.bounds = as_bounds(_range(pool, config.dim) if bounds is None else bounds)
        if len(self.bounds) != config.dim:
            raise ValueError(f"the policy is for {config.dim} inputs, got bounds for {len(self.bounds)}")
        self.y_mean = None if y_mean is None else as_scalar("y_mean", y_mean)
        self.y_std = None if y_std is None else as_scalar("y_std", y_std)
        if self.y_std is not None and self.y_std <= 0:
            raise ValueError(f"y_std must be positive, got {y_std}")
        self._pool = None if pool is None else as_points("pool", pool, self.bounds)
        if self._pool is not None and len(self._pool) == 0:
            raise ValueError("the pool is empty")
        self._unit_pool = None if self._pool is None else jnp.asarray(self._to_unit(self._pool), jnp.float32)
        self._experiment = Experiment.empty(config.dim)
        self._view: _View | None = None
        self._allow(config.capacity if budget is None else as_whole_number("budget", budget, 1))

    @property
    def x(self) -> np.ndarray:
        """Inputs told so far, ``[n, D]``."""
        return self._experiment.x.copy()

    @property
    def y(self) -> np.ndarray:
        """Outputs told so far, ``[n]``."""
        return self._experiment.y.copy()

    @property
    def pending(self) -> np.ndarray:
        """Inputs asked for and not told yet, ``[m, D]``."""
        return self._experiment.pending.copy()

    @property
    def budget(self) -> int:
        """The number of points in all."""
        return self._budget

    @property
    def remaining(self) -> int:
        """How many more points the budget allows; pending ones count as spent."""
        return self._budget - self._experiment.count

    def ask(self, n: int | None = None) -> np.ndarray:
        """The next input ``[D]``, or the next ``n`` inputs ``[n, D]`` to be measured in parallel."""
        points, _ = self._ask(n)
        return points[0] if n is None else points

    def ask_row(self, n: int | None = None) -> Any:
        """As ``ask``, but the row of the pool, or the ``n`` rows."""
        if self._pool is None:
            raise ValueError("ask_row needs a learner with a pool")
        _, rows = self._ask(n)
        return int(rows[0]) if n is None else rows

    def tell(self, x: Any, y: Any) -> None:
        """Add the output ``y`` measured at ``x``, or several, ``x [n, D]`` and ``y [n]``: all or none."""
        points, outputs = as_points("x", x, self.bounds), np.atleast_1d(as_numbers("y", y))
        if outputs.shape != (len(points),):
            raise ValueError(
                f"y must be one number for each point, got shape {outputs.shape} for {len(points)} points"
            )
        experiment, slack = self._experiment, tolerance(self.bounds)
        for point, output in zip(points, outputs, strict=True):
            experiment = experiment.tell(point, float(output), self._row(experiment, point), slack)
        if experiment.count > self._budget:
            raise ValueError(f"{experiment.count} points are more than the budget; {self._spent()}")
        self._experiment = experiment
        self._view = self._look()  # now, so that the next ask finds its points encoded

    def forget(self) -> None:
        """Give up all pending points; those of a pool may be asked for again."""
        self._experiment, self._view = self._experiment.forget(), None

    def extend(self, n: int) -> None:
        """Allow ``n`` more points. Beyond what the policy was trained for, its queries are guesses."""
        self._allow(self._budget + as_whole_number("n", n, 1))

    def save(self, path: str | os.PathLike) -> None:
        """Write the whole experiment, policy and pool included, to one file, atomically."""
        learner_file.write(path, self._snapshot())

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Learner":
        """The experiment that ``save`` wrote; it goes on as if it had never stopped."""
        return learner_file.read(path, cls._restore)

    def _snapshot(self) -> learner_file.Snapshot:
        return learner_file.Snapshot(
            self.policy, self.bounds, self.y_mean, self.y_std, self._pool, self._budget, self._experiment
        )

    @classmethod
    def _restore(cls, snapshot: learner_file.Snapshot) -> "Learner":
        policy, bounds, y_mean, y_std, pool, budget, experiment = snapshot
        learner = cls(policy, bounds, y_mean=y_mean, y_std=y_std, pool=pool, budget=budget)
        largest = -1 if pool is None else len(pool) - 1
        if experiment.count > budget or not np.isin(experiment.rows, np.arange(-1, largest + 1)).all():
            raise ValueError("its points do not fit its budget or its pool")
        as_points("x", experiment.x, bounds)
        as_points("pending", experiment.pending, bounds)
        as_numbers("y", experiment.y)
        learner._experiment = experiment
        return learner

    def _allow(self, budget: int) -> None:
        if budget > LARGEST_BUDGET:
            raise ValueError(f"budget must be at most {LARGEST_BUDGET} points, got {budget}")
        self._budget, self._view = budget, None
        self._capacity = _capacity(self.policy.config, budget)
        self._run = compiled(self.policy, self._capacity)

    def _spent(self) -> str:
        told, pending = len(self._experiment.y), len(self._experiment.pending)
        return f"of {self._budget} points {told} are told and {pending} pending, and extend(n) allows n more"

    def _ask(self, n: int | None) -> tuple[np.ndarray, np.ndarray]:
        count = 1 if n is None else as_whole_number("n", n, 1)
        if count > self.remaining:
            raise ValueError(f"the budget is spent: {self._spent()}")
        if self._pool is not None and count > (free := self._free().sum()):
            raise ValueError(f"the pool is exhausted: {free} of its points are left, got n={count}")
        picked = [self._ask_one() for _ in range(count)]
        return np.stack([point for point, _ in picked]), np.array([row for _, row in picked])

    def _ask_one(self) -> tuple[np.ndarray, int]:
        view = self._view or self._look()
        unit = self._run.decide(view.encoded, view.mask)
        row = -1
        if self._pool is not None:
            row = int(nearest(self._unit_pool, self._free(), unit))
            point = self._pool[row]
        else:
            if view.pending.any():
                unit = keep_apart(unit, view.x, view.pending)
            low, high = self.bounds.T
            point = np.clip(low + np.asarray(unit, np.float64) * (high - low), low, high)
        self._experiment, self._view = self._experiment.ask(point, row), None
        return point, row

    def _look(self) -> "_View":
        """The experiment as the policy sees it; pending points have the output of the nearest told one."""
        data, n, count = self._experiment, len(self._experiment.y), self._experiment.count
        x, y = np.zeros((self._capacity, len(self.bounds)), np.float32), np.zeros(self._capacity, np.float32)
        x[:count] = self._to_unit(np.vstack([data.x, data.pending]))
        y[:n] = np.clip(standardise(data.y, self.y_mean, self.y_std), -LARGEST_Y, LARGEST_Y)
        if 0 < n < count:
            y[n:count] = y[np.square(x[n:count, None] - x[:n]).sum(-1).argmin(1)]
        index = np.arange(self._capacity)
        return _View(x, self._run.encode(x, y), index < count, (n <= index) & (index < count))

    def _to_unit(self, x: np.ndarray) -> np.ndarray:
        low, high = self.bounds.T
        return (x - low) / (high - low)

    def _free(self) -> np.ndarray:
        free = np.ones(len(self._pool), bool) if self._pool is not None else np.zeros(0, bool)
        rows = self._experiment.rows
        free[rows[rows >= 0]] = False
        return free

    def _row(self, experiment: Experiment, x: np.ndarray) -> int:
        """The row of the pool that a point of the user's own is, -1 for none."""
        if self._pool is None:
            return -1
        match = np.flatnonzero((np.abs(self._pool - x) <= tolerance(self.bounds)).all(1))
        left = np.setdiff1d(match, experiment.rows)
        return int(left[0]) if left.size else -1


class _View(NamedTuple):
    """What the policy sees, padded to the capacity."""

    x: np.ndarray
    encoded: Any
    mask: np.ndarray
    pending: np.ndarray


def _range(pool: Any, dim: int) -> np.ndarray:
    if pool is None:
        raise ValueError("bounds are needed: one (low, high) pair for each input")
    rows = as_rows("pool", pool, dim)
    if len(rows) == 0:
        raise ValueError("the pool is empty")
    return np.stack([rows.min(0), rows.max(0)], 1)


def _capacity(config: PolicyConfig, budget: int) -> int:
    """Room for the budget in a few sizes only, so that extending step by step does not compile each time."""
    capacity = config.capacity
    while capacity < budget:
        capacity *= 2
    if budget > config.capacity:
        notice_capacity(config, budget)
    return capacity
