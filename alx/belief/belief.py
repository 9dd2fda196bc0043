"""The whole bank after some points: the evidence of each kernel is exact, and a point adds a row to each."""

import dataclasses

import jax
import jax.numpy as jnp
from flax import struct
from jax import Array

from alx.belief.bank import JITTER, MEAN, PRIOR_SQUARE, Bank, bank, gram, kernel
from alx.gp import algebra
from alx.history import History

__all__ = ["Belief", "add", "believe", "empty", "evidence", "new_row", "with_outputs"]


@struct.dataclass
class Belief:
    """The bank after some points, padded to a capacity.

    Attributes:
        x: inputs ``[N, D]``.
        y: outputs ``[N]``.
        mask: which rows hold a point, ``[N]``.
        whitening: for each kernel W with W K W^T = 1 on those rows, zero elsewhere, ``[K, N, N]``.
        log_det: log det K, ``[K]``.
        groups: the lengthscale of each column of x: columns of one group share theirs.
    """

    x: Array
    y: Array
    mask: Array
    whitening: Array
    log_det: Array
    groups: tuple[int, ...] = struct.field(pytree_node=False)

    @property
    def kernels(self) -> Bank:
        return bank(max(self.groups) + 1)


def empty(capacity: int, dim: int, groups: tuple[int, ...] | None = None) -> Belief:
    """The belief before the first point."""
    groups = tuple(range(dim)) if groups is None else groups
    size = len(bank(max(groups) + 1).noise)
    return Belief(
        jnp.zeros((capacity, dim)),
        jnp.zeros(capacity),
        jnp.zeros(capacity, bool),
        jnp.zeros((size, capacity, capacity)),
        jnp.zeros(size),
        groups,
    )


def believe(history: History, groups: tuple[int, ...] | None = None) -> Belief:
    """The belief given a history; pending points are no part of it, see `expect`.

    Args:
        history: x in the unit cube, y of mean zero and variance one over the domain, as far as one can tell.
        groups: which lengthscale each column of x has, one after the other by default. The columns that
            encode one categorical input share one.
    """
    groups = tuple(range(history.x.shape[1])) if groups is None else groups
    mask = history.mask if history.pending is None else history.mask & ~history.pending
    x = jnp.where(mask[:, None], history.x, 0.0)
    y = jnp.where(mask, history.y, 0.0)
    kernels = bank(max(groups) + 1)
    scale = 1 / kernels.lengthscale[:, groups]
    eye = jnp.eye(len(y))
    noisy = gram(x, scale, kernels.rough) + kernels.noise[:, None, None] * eye
    inverse = algebra.whiten(jnp.where(mask[:, None] & mask, noisy, eye))
    log_det = -2 * jnp.log(jnp.diagonal(inverse, axis1=1, axis2=2)).sum(1)
    return Belief(x, y, mask, jnp.where(mask[:, None] & mask, inverse, 0.0), log_det, groups)


def new_row(whitening: Array, cross: Array, noise: Array, row: Array) -> tuple[Array, Array]:
    """The row of W ``[K, N]`` for a point with covariances ``cross [K, N]``, and its pivot ``[K]``."""
    v = algebra.times(whitening, cross[..., None])[..., 0]
    pivot = jnp.maximum(1 + MEAN + noise - jnp.square(v).sum(1), 0.5 * JITTER)
    new = jax.nn.one_hot(row, cross.shape[1]) - algebra.times(v[:, None], whitening)[:, 0]
    return new * jax.lax.rsqrt(pivot)[:, None], pivot


def add(belief: Belief, x: Array, y: Array) -> Belief:
    """The belief after one more point ``x [D]``, ``y``: one row for each kernel. In a full belief nothing
    changes.
    """
    kernels = belief.kernels
    scale = 1 / kernels.lengthscale[:, belief.groups]
    cross = kernel(belief.x, x[None], scale, kernels.rough)[..., 0]
    row = jnp.argmin(belief.mask)
    new, pivot = new_row(belief.whitening, jnp.where(belief.mask, cross, 0.0), kernels.noise, row)
    full = belief.mask.all()
    return dataclasses.replace(
        belief,
        x=belief.x.at[row].set(jnp.where(full, belief.x[row], x)),
        y=belief.y.at[row].set(jnp.where(full, belief.y[row], y)),
        mask=belief.mask.at[row].set(True),
        whitening=belief.whitening.at[:, row].set(jnp.where(full, belief.whitening[:, row], new)),
        log_det=belief.log_det + jnp.where(full, 0.0, jnp.log(pivot)),
    )


def with_outputs(belief: Belief, y: Array) -> Belief:
    """The belief after other outputs ``y [N]`` at the same points, as when they are standardised anew."""
    return dataclasses.replace(belief, y=jnp.where(belief.mask, y, 0.0))


def evidence(belief: Belief) -> tuple[Array, Array]:
    """log p(y) of each kernel ``[K]`` but for a constant, and W y ``[K, N]``."""
    white = (belief.whitening * belief.y).sum(2)  # as a product with a vector it would not be vectorised
    square = jnp.square(white).sum(1) + PRIOR_SQUARE
    n = belief.mask.sum()
    return -0.5 * ((n + 1) * jnp.log(square) + belief.log_det), white
