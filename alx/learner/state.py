"""The points of one experiment as plain arrays and pure functions of them.

Inputs are codes (see ``domain``). A row whose outputs are all NaN is a measurement that failed; a single NaN
among several outputs is one that is missing.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["LearnerState", "Reading"]


class Reading(NamedTuple):
    """One measurement to be told.

    Attributes:
        x: where it was taken, codes ``[D]``.
        y: its outputs ``[P]``.
        row: the row of the pool this is, -1 for none.
        asked: the pending point that it answers when that is known, codes ``[D]``.
        repeat: count it even if the same output was told for the same point before.
        extra: whatever belongs to it besides.
    """

    x: np.ndarray
    y: np.ndarray
    row: int = -1
    asked: np.ndarray | None = None
    repeat: bool = False
    extra: Mapping[str, Any] = {}


class LearnerState(NamedTuple):
    """Points told and points pending. Functions return a new state, so a refused change leaves no trace.

    Attributes:
        x: inputs told, failed ones among them, ``[n, D]``.
        y: outputs told, ``[n, P]``.
        rows: the row of the pool each came from, -1 for none, ``[n]``.
        extra: what belongs to each besides, ``n`` of them.
        pending: inputs asked for and not told yet, ``[m, D]``.
        pending_rows: the rows of the pool they came from, ``[m]``.
    """

    x: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    extra: tuple[Mapping[str, Any], ...]
    pending: np.ndarray
    pending_rows: np.ndarray

    @classmethod
    def empty(cls, dim: int, outputs: int) -> "LearnerState":
        """Nothing told, nothing pending."""
        rows = np.zeros(0, np.int64)
        return cls(np.zeros((0, dim)), np.zeros((0, outputs)), rows, (), np.zeros((0, dim)), rows)

    @property
    def failures(self) -> np.ndarray:
        """Which of the points told have failed, ``[n]``."""
        return np.all(np.isnan(self.y), axis=1)

    def failed(self, rounding: np.ndarray) -> np.ndarray:
        """Where measurements have failed and none has succeeded, ``[f, D]``."""
        failed, measured = self.x[self.failures], self.x[~self.failures]
        close = np.abs(failed[:, None] - measured) <= rounding
        return failed[~np.any(np.all(close, axis=2), axis=1)]

    def spent(self, count_failures: bool) -> int:
        """Points that the budget has paid for."""
        failed = 0 if count_failures else int(self.failures.sum())
        return len(self.y) - failed + len(self.pending)

    def ask(self, x: np.ndarray, row: int = -1) -> "LearnerState":
        """With one more pending point."""
        pending = np.concatenate([self.pending, x[None]])
        return LearnerState(*self[:4], pending, np.concatenate([self.pending_rows, [row]]))

    def forget(self, x: np.ndarray, tolerance: np.ndarray) -> "LearnerState":
        """Without the pending point at ``x``."""
        at = _nearest(self.pending, x, tolerance)
        if at is None:
            raise ValueError(
                f"x is not a pending point: {_listed(x)}; pending are {len(self.pending)} points"
            )
        return self._without(at)

    def tell(self, reading: Reading, rounding: np.ndarray, tolerance: np.ndarray) -> "LearnerState":
        """With one more measurement.

        The nearest pending point within ``tolerance`` is answered by it. The very point and outputs that are
        known already change nothing, unless the reading is told as a repetition.
        """
        x, y, row, asked, repeat, extra = reading
        at = _nearest(self.pending, x if asked is None else asked, tolerance)
        if asked is not None and at is None:
            raise ValueError(
                f"asked is not a pending point: {_listed(asked)}; pending are {len(self.pending)} points"
            )
        if at is None:
            known = (np.abs(self.x - x) <= rounding).all(1) & _equal(self.y, y)
            if known.any() and not repeat:
                return self
            rest = self
        else:
            row, rest = int(self.pending_rows[at]), self._without(at)
            if (np.abs(self.pending[at] - x) <= rounding).all():
                x = self.pending[at]
        return rest._replace(
            x=np.vstack([self.x, x]),
            y=np.vstack([self.y, y]),
            rows=np.append(self.rows, row),
            extra=(*self.extra, extra),
        )

    def _without(self, at: int) -> "LearnerState":
        return self._replace(
            pending=np.delete(self.pending, at, 0), pending_rows=np.delete(self.pending_rows, at)
        )


def _nearest(points: np.ndarray, x: np.ndarray, tolerance: np.ndarray) -> int | None:
    """The index of the point nearest to x within the tolerance, the oldest of equals."""
    if len(points) == 0:
        return None
    distance = (np.abs(points - x) / tolerance).max(1)
    at = int(distance.argmin())
    return at if distance[at] <= 1 else None


def _equal(told: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ((told == y) | (np.isnan(told) & np.isnan(y))).all(1)


def _listed(x: np.ndarray) -> str:
    return "(" + ", ".join(f"{value:g}" for value in x) + ")"
