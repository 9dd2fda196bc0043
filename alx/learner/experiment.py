"""The points of an experiment in the user's own units: ask for the next, tell what came of it, save, load."""

import logging
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from alx.io.store import load
from alx.learner import file as learner_file
from alx.learner.arguments import as_domain_inputs, as_outputs, as_tolerance, for_each_output
from alx.learner.ask import Asker
from alx.learner.checks import as_whole_number, short
from alx.learner.compiled import capacity_for, check_room
from alx.learner.domain import OVERSHOOT, Domain
from alx.learner.merge import unite
from alx.learner.model import OutputBelief, update
from alx.learner.outputs import from_outputs
from alx.learner.state import LearnerState, Reading
from alx.network.policy import Policy

__all__ = ["Experiment"]

UNLIMITED = 32  # room for points at first when there is no budget


class Experiment:
    """What a learner knows, and what it asks; see ``Learner`` for what is made of it."""

    def __init__(
        self,
        policy: Policy | str | os.PathLike | None = None,
        bounds: Any = None,
        *,
        inputs: Any = None,
        outputs: Any = ("y",),
        constraint: Callable[[np.ndarray], Any] | None = None,
        pool: Any = None,
        budget: int | None = None,
        y_mean: Any = None,
        y_std: Any = None,
        tolerance: Any = None,
        count_failures: bool = True,
    ):
        self.policy = policy if isinstance(policy, Policy) else load() if policy is None else load(policy)
        self._domain = Domain(as_domain_inputs(bounds, inputs, pool), constraint)
        self.inputs = self._domain.inputs
        self.outputs = from_outputs(outputs, tuple(each.name for each in self.inputs))
        self.y_mean = for_each_output("y_mean", y_mean, len(self.outputs))
        self.y_std = for_each_output("y_std", y_std, len(self.outputs))
        if self.y_std is not None and (self.y_std <= 0).any():
            raise ValueError(f"y_std must be positive, got {short(y_std)}")
        self._tolerance = as_tolerance(tolerance, self._domain)
        self._pool = None if pool is None else self._domain.codes("pool", pool)
        self.count_failures = bool(count_failures)
        self._asker = Asker(self.policy, self._domain, self._pool, self.outputs)
        self._budget = self._default_budget() if budget is None else as_whole_number("budget", budget, 1)
        check_room(self._budget or UNLIMITED, self._domain.dim)  # raises when there is no such room
        self._state = LearnerState.empty(self._domain.dim, len(self.outputs))
        self._beliefs: list[OutputBelief] | None = None
        self._files: dict[str, learner_file.Snapshot] = {}

    @property
    def bounds(self) -> np.ndarray:
        """Smallest and largest value of each input ``[D, 2]``; for a choice, of the index of its level."""
        return self._domain.bounds.copy()

    @property
    def x(self) -> np.ndarray:
        """Inputs measured so far, ``[n, D]``."""
        return self._domain.rows(self._state.x[~self._state.failures])

    @property
    def y(self) -> np.ndarray:
        """Outputs measured so far, ``[n]``, or with several ``[n, P]`` with NaN where one is missing."""
        y = self._state.y[~self._state.failures]
        return y[:, 0] if len(self.outputs) == 1 else y

    @property
    def failed(self) -> np.ndarray:
        """Inputs at which the measurement failed and none has succeeded since, ``[f, D]``."""
        return self._domain.rows(self._state.failed(self._domain.rounding))

    @property
    def pending(self) -> np.ndarray:
        """Inputs asked for and not told yet, ``[m, D]``."""
        return self._domain.rows(self._state.pending)

    @property
    def budget(self) -> int | None:
        """The number of points in all, None for no limit."""
        return self._budget

    @property
    def spent(self) -> int:
        """How many points of the budget are told or pending."""
        return self._state.spent(self.count_failures)

    @property
    def remaining(self) -> float:
        """How many more points the budget allows, infinity without one."""
        return math.inf if self._budget is None else max(self._budget - self.spent, 0)

    def ask(self, n: int | None = None) -> np.ndarray:
        """The next input ``[D]``, or the next ``n`` inputs ``[n, D]`` to be measured in parallel."""
        points = self._domain.rows(np.array([code for code, _ in self._ask(n)]))
        return points[0] if n is None else points

    def ask_row(self, n: int | None = None) -> Any:
        """As ``ask``, but returns a row number of the pool, or ``n`` of them."""
        if self._pool is None:
            raise ValueError("ask_row needs a learner with a pool")
        rows = [row for _, row in self._ask(n)]
        return rows[0] if n is None else np.array(rows)

    def tell(self, x: Any, y: Any, *, asked: Any = None, repeat: bool = False) -> None:
        """Add the output ``y`` measured at ``x``, or several, ``x [n, D]`` and ``y [n]``: all or none.

        Args:
            x: where it was measured. A point a little outside the bounds is used as it is.
            y: the output, or NaN for a failed measurement, whose neighbourhood is avoided from then on. With
                several outputs one number for each, NaN for a missing one.
            asked: the pending points that these measurements answer, when they were not met exactly.
            repeat: count these measurements even if the same were told before.
        """
        points = self._domain.codes("x", x, OVERSHOOT)
        ys = as_outputs(y, len(points), len(self.outputs))
        answers = [None] * len(points) if asked is None else list(self._domain.codes("asked", asked))
        if len(answers) != len(points):
            raise ValueError(f"asked must be one point for each x, got {len(answers)} for {len(points)}")
        told = zip(points, ys, answers, strict=True)
        self._tell([Reading(point, y, asked=answer, repeat=repeat) for point, y, answer in told])

    def forget(self, x: Any = None) -> None:
        """Give up one pending point, or all of them; those of a pool may be asked for again."""
        state = self._state
        points = state.pending if x is None else self._domain.codes("x", x)
        for point in points:
            state = state.forget(point, self._tolerance)
        self._state = state

    def extend(self, n: int) -> None:
        """Allow ``n`` more points."""
        more = as_whole_number("n", n, 1)
        if self._budget is not None:
            check_room(self._budget + more, self._domain.dim)
            self._budget += more

    def save(self, path: str | os.PathLike) -> None:
        """Write the whole experiment, policy and pool included, to one file, atomically.

        Points that another process has added to the file since this learner loaded or saved it are kept, and
        this learner has them from then on. A file that has changed in any other way is left as it is, and an
        error raised.
        """
        base = self._files.get(os.path.realpath(path))
        self._adopt(path, learner_file.save(path, self._snapshot(), base))

    @classmethod
    def load(cls, path: str | os.PathLike, constraint: Callable[[np.ndarray], Any] | None = None) -> Any:
        """The experiment that ``save`` wrote. A constraint, which no file can hold, has to be given again."""
        return learner_file.read(path, lambda snapshot: cls._restore(path, snapshot, constraint))

    def _default_budget(self) -> int | None:
        return getattr(self.policy.config, "capacity", None)

    def _ask(self, n: int | None) -> list[tuple[np.ndarray, int]]:
        """The next points, as code ``[D]`` and row of the pool or -1."""
        count, remaining = 1 if n is None else as_whole_number("n", n, 1), self.remaining
        if count > remaining:
            raise ValueError(f"the budget is spent: {self._spending()}")
        if self._pool is not None and count > (free := self._asker.free(self._state).sum()):
            raise ValueError(f"the pool is exhausted: {free} of its points are left, got n={count}")
        state, picked = self._state, []
        for i in range(count):
            # Without a budget nobody knows how many will follow: as many as there are, say.
            left = max(len(state.y), 1) if self._budget is None else remaining - i
            query = self._asker(self._told_beliefs(room=len(state.pending)), state, left)
            if query is None:
                raise ValueError(
                    f"the domain is exhausted: its {len(self._domain.places)} points are all told or pending"
                )
            state = state.ask(*query)
            picked.append(query)
        self._state = state
        return picked

    def _tell(self, readings: list[Reading]) -> None:
        state = self._state
        for reading in readings:
            row = self._row(state, reading.x)
            state = state.tell(reading._replace(row=row), self._domain.rounding, self._tolerance)
        spent = state.spent(self.count_failures)
        if self._budget is not None and spent > max(self._budget, self.spent):
            raise ValueError(f"{spent} points are more than the budget; {self._spending()}")
        for reading in readings:
            self._notice_outside(reading.x)
        self._state = state
        if self._beliefs is not None:
            self._beliefs = self._believed(0)  # a row more, now, so that the next ask finds it ready

    def _spending(self) -> str:
        pending = len(self._state.pending)
        told = f"of {self._budget} points {self.spent - pending} are told and {pending} pending"
        return f"{told}, and extend(n) allows n more"

    def _notice_outside(self, x: np.ndarray) -> None:
        text = "%s = %g lies outside its bounds (%g, %g); the point is used as it is."
        for each, value, (low, high) in zip(self.inputs, x, self._domain.bounds, strict=True):
            if not low <= value <= high:
                logging.getLogger("alx").warning(text, each.name, value, low, high)

    def _row(self, state: LearnerState, x: np.ndarray) -> int:
        """The row of the pool that a point of the user's own is, -1 for none."""
        if self._pool is None:
            return -1
        match = np.flatnonzero((np.abs(self._pool - x) <= self._domain.rounding).all(1))
        left = np.setdiff1d(match, np.concatenate([state.rows, state.pending_rows]))
        return int(left[0]) if left.size else -1

    def _told_beliefs(self, room: int = 0) -> list[OutputBelief]:
        """What is believed of each output, with room for this many pending points."""
        if self._beliefs is None or any(len(one.y) + room > len(one.seen) for one in self._beliefs):
            self._beliefs = self._believed(room)
        return self._beliefs

    def _believed(self, room: int) -> list[OutputBelief]:
        state = self._state
        room = max(room, len(state.pending))
        embedded = self._domain.embed(state.x)
        beliefs = []
        for p in range(len(self.outputs)):
            there = ~np.isnan(state.y[:, p])
            capacity = capacity_for(max(self._budget or UNLIMITED, int(there.sum()) + room))
            old = None if self._beliefs is None else self._beliefs[p]
            points = embedded[there], state.y[there, p]
            beliefs.append(update(self._asker.run, old, *points, self._known_scale(p), capacity))
        return beliefs

    def _known_scale(self, p: int) -> tuple[float | None, float | None]:
        mean, std = (None if each is None else float(each[p]) for each in (self.y_mean, self.y_std))
        return mean, std

    def _snapshot(self) -> learner_file.Snapshot:
        return learner_file.Snapshot(
            self.policy,
            self.inputs,
            self._domain.constraint is not None,
            self.outputs,
            self.y_mean,
            self.y_std,
            self._tolerance,
            self.count_failures,
            self._pool,
            self._budget,
            self._state,
        )

    def _adopt(self, path: str | os.PathLike, snapshot: learner_file.Snapshot) -> None:
        """Go on from what is in the file now."""
        self._files[os.path.realpath(path)] = snapshot
        self._budget = snapshot.budget
        if snapshot.state is not self._state:
            self._state, self._beliefs = snapshot.state, None

    def _resume(self, path: str | os.PathLike) -> None:
        """Take over the points of a file, and keep those it does not have."""
        theirs = learner_file.read(path, lambda snapshot: snapshot)
        if not self._snapshot().same_experiment(theirs):
            raise ValueError(f"{path} holds another experiment, with other inputs, outputs or pool")
        mine = self._state
        self._adopt(path, theirs)
        self._state = unite(mine, theirs.state)

    @classmethod
    def _restore(cls, path, snapshot: learner_file.Snapshot, constraint):
        if snapshot.constrained and constraint is None:
            raise ValueError("it was saved with a constraint: give it to load once more")
        domain = Domain(snapshot.inputs)
        pool = None if snapshot.pool is None else domain.rows(snapshot.pool)
        learner = cls(
            snapshot.policy,
            inputs=list(snapshot.inputs),
            outputs=list(snapshot.outputs),
            constraint=constraint,
            pool=pool,
            budget=snapshot.budget,
            y_mean=snapshot.y_mean,
            y_std=snapshot.y_std,
            tolerance=snapshot.tolerance,
            count_failures=snapshot.count_failures,
        )
        state, largest = snapshot.state, -1 if pool is None else len(pool) - 1
        rows = np.concatenate([state.rows, state.pending_rows])
        if not domain.holds(np.vstack([state.x, state.pending])) or ((rows < -1) | (rows > largest)).any():
            raise ValueError("its points do not fit its inputs or its pool")
        learner._adopt(path, snapshot)
        return learner
