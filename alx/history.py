"""The data measured so far: a set of (x, y) with a fixed capacity and a mask.

Shapes never change while points are added, so one compilation serves a whole budget.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer
from jax.typing import ArrayLike

__all__ = ["LARGEST_Y", "History"]

# Training never sees an output this many standard deviations out; beyond it the answer would mean nothing.
LARGEST_Y = 10.0


class History(NamedTuple):
    """A set of labelled points. Rows where ``mask`` is False are padding and have no influence.

    Attributes:
        x: inputs in the unit cube, ``[capacity, D]``.
        y: standardised outputs, ``[capacity]``.
        mask: which rows hold a point, ``[capacity]``.
        pending: which of them are asked for but not yet measured, ``[capacity]``, or None for none. Their
            ``y`` has no influence.
    """

    x: Array
    y: Array
    mask: Array
    pending: Array | None = None

    @classmethod
    def empty(cls, capacity: int, dim: int) -> "History":
        """A history without points."""
        if capacity < 1 or dim < 1:
            raise ValueError(f"capacity and dim must be at least 1, got capacity={capacity} and dim={dim}")
        return cls(jnp.zeros((capacity, dim)), jnp.zeros(capacity), jnp.zeros(capacity, bool))

    @classmethod
    def from_arrays(cls, x: ArrayLike, y: ArrayLike, capacity: int | None = None) -> "History":
        """A history of the points ``x [n, D]``, ``y [n]`` with room for ``capacity`` of them (default: n).

        Inputs outside the unit cube and outputs that are not finite are a ValueError; under ``jit`` nothing
        can be raised.
        """
        x, y = jnp.asarray(x, float), jnp.asarray(y, float)
        if x.ndim != 2 or y.shape != x.shape[:1]:
            raise ValueError(f"x must be [n, D] and y [n], got shapes {x.shape} and {y.shape}")
        n = x.shape[0]
        capacity = n if capacity is None else capacity
        if n > capacity:
            raise ValueError(f"capacity must be at least the number of points {n}, got {capacity}")
        _check(x, "x must lie in the unit cube", lambda values: (values >= 0) & (values <= 1))
        _check(y, "y must be finite", np.isfinite)
        pad = capacity - n
        return cls(jnp.pad(x, ((0, pad), (0, 0))), jnp.pad(y, (0, pad)), jnp.arange(capacity) < n)

    @property
    def capacity(self) -> int:
        return self.x.shape[-2]

    @property
    def count(self) -> Array:
        """How many points the history holds."""
        return self.mask.sum(-1)

    def append(self, x: ArrayLike, y: ArrayLike) -> "History":
        """Add one point in the first free row.

        A full history raises a ValueError; under ``jit`` nothing can be raised, so there the point is
        dropped and the history returned unchanged.
        """
        if not isinstance(self.mask, Tracer) and bool(self.mask.all()):
            raise ValueError(f"the history is full: its capacity is {self.capacity}")
        row = jnp.where(self.mask.all(), self.capacity, jnp.argmin(self.mask))
        return self._replace(
            x=self.x.at[row].set(x, mode="drop"),
            y=self.y.at[row].set(y, mode="drop"),
            mask=self.mask.at[row].set(True, mode="drop"),
        )

    def cleaned(self) -> "History":
        """Without what must not reach a sum: whatever is in the padding, even NaN, and y of pending points.

        Outputs beyond `LARGEST_Y` count as that.
        """
        pending = None if self.pending is None else self.pending & self.mask
        told = self.mask if pending is None else self.mask & ~pending
        x = jnp.where(self.mask[:, None], self.x, 0)
        return History(x, jnp.where(told, jnp.clip(self.y, -LARGEST_Y, LARGEST_Y), 0), self.mask, pending)


def _check(values: Array, rule: str, holds: Callable[[np.ndarray], np.ndarray]) -> None:
    """A ValueError with the first value, NaN included, that the rule does not hold for."""
    if isinstance(values, Tracer):
        return
    given = np.asarray(values)
    wrong = np.argwhere(~holds(given))
    if len(wrong):
        raise ValueError(f"{rule}, got {given[tuple(wrong[0])]:g} in row {wrong[0][0]}")
