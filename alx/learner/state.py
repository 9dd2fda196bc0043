"""The state of one experiment in the user's units, as plain arrays and pure functions of them."""

from typing import NamedTuple

import numpy as np

__all__ = ["Experiment"]


class Experiment(NamedTuple):
    """Points told and points pending. Functions return a new experiment, so a refused change leaves no trace.

    Attributes:
        x: inputs told, ``[n, D]``.
        y: outputs told, ``[n]``.
        pending: inputs asked for and not told yet, ``[m, D]``.
        rows: the rows of the pool that ``x`` and then ``pending`` came from, -1 for none, ``[n + m]``.
    """

    x: np.ndarray
    y: np.ndarray
    pending: np.ndarray
    rows: np.ndarray

    @classmethod
    def empty(cls, dim: int) -> "Experiment":
        """Nothing told, nothing pending."""
        return cls(np.zeros((0, dim)), np.zeros(0), np.zeros((0, dim)), np.zeros(0, np.int64))

    @property
    def count(self) -> int:
        """Points in all."""
        return len(self.y) + len(self.pending)

    def ask(self, x: np.ndarray, row: int) -> "Experiment":
        """With one more pending point."""
        return self._replace(pending=np.vstack([self.pending, x]), rows=np.append(self.rows, row))

    def forget(self) -> "Experiment":
        """Without its pending points."""
        return self._replace(pending=self.pending[:0], rows=self.rows[: len(self.y)])

    def tell(self, x: np.ndarray, y: float, row: int, tolerance: np.ndarray) -> "Experiment":
        """With ``y`` measured at ``x``.

        A pending point within ``tolerance`` is that measurement, and the oldest one is; the very point and
        output that are known already change nothing.
        """
        n = len(self.y)
        match = np.flatnonzero((np.abs(self.pending - x) <= tolerance).all(1))
        if match.size == 0 and ((np.abs(self.x - x) <= tolerance).all(1) & (self.y == y)).any():
            return self
        rows, pending = self.rows, self.pending
        if match.size:
            row, rows = int(rows[n + match[0]]), np.delete(rows, n + match[0])
            x, pending = pending[match[0]], np.delete(pending, match[0], 0)
        return Experiment(np.vstack([self.x, x]), np.append(self.y, y), pending, np.insert(rows, n, row))
