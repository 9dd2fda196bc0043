"""What is believed about the function, given the points so far: a mixture of a few likely Gaussian processes.

No fit and no optimiser: a fixed bank of kernels covers what functions on the unit cube are like, the evidence
of each is exact, and the most likely few stand for the posterior. The cost is fixed, and all of it is a pure
function of the points, in any order.

A kernel of the bank is s2 (k(x, x') + MEAN + noise^2 [x = x']): an RBF or Matern correlation with one
lengthscale per input, a constant whose size is unknown and stands for the mean of the outputs, and noise in
units of the signal. The signal variance s2 is integrated out under an inverse gamma prior, IG(1/2, 1/4).
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from jax import Array

from alx.gp import algebra
from alx.gp.kernels import correlation, square_distance
from alx.gp.lattice import lattice
from alx.history import History

__all__ = ["Bank", "Belief", "Mixture", "add", "bank", "believe", "empty", "expect", "likely", "with_outputs"]

LIKELY = 6  # kernels that stand for the posterior
SIZES = {1: 64, 2: 96, 3: 160, 4: 256, 5: 320}  # of the bank; MOST for more inputs
MOST = 384
SHORTEST = (0.06, 0.09)  # lengthscales that so few points can tell: up to two inputs, and above
LONGEST = 4.0
NOISE = (0.03, 0.7)
MEAN = 0.25
JITTER = 1e-4  # a noise variance that float32 can invert
PRIOR_SQUARE = (
    0.5  # what the prior of the signal variance adds to y^T K^-1 y, with one more degree of freedom
)
# With one or two points the evidence says nothing, and the likeliest kernels would be an accident: the first
# ones of the bank, which are spread evenly, start a little ahead.
AHEAD = 1.0


class Bank(NamedTuple):
    """Kernels: lengthscales ``[K, D]``, noise variance over the signal's, whether Matern, log prior
    ``[K]``.
    """

    lengthscale: Array
    noise: Array
    rough: Array
    log_prior: Array


@functools.cache
def _bank(dim: int) -> tuple[np.ndarray, ...]:
    size = SIZES.get(dim, MOST)
    u = lattice(size, dim + 2)
    shortest = SHORTEST[dim > 2]
    lengthscale = shortest * (LONGEST / shortest) ** u[:, :dim]
    noise = np.square(NOISE[0] * (NOISE[1] / NOISE[0]) ** u[:, dim]) + JITTER
    ahead = np.where(np.arange(size) < LIKELY, AHEAD, 0.0)
    return lengthscale, noise, u[:, dim + 1] < ROUGH, ahead.astype(np.float32)


ROUGH = 0.3  # share of Matern kernels


def bank(dim: int) -> Bank:
    """The kernels for this number of inputs."""
    return Bank(*map(jnp.asarray, _bank(dim)))


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


class Mixture(NamedTuple):
    """The likely kernels ``[L]``, with what of them the points decide; rows may be pending.

    Attributes:
        x: inputs ``[N, D]``.
        y: outputs ``[N]``, 0 where there is none.
        mask: which rows hold a point, told or pending, ``[N]``.
        told: which rows have an output, ``[N]``.
        inverse_scale: 1 / lengthscale of each column of x, ``[L, D]``.
        noise: variance over that of the signal.
        rough: whether Matern.
        signal: the mean of the signal variance given the data.
        weight: posterior weights among the likely ones; they add up to one.
        log_weight: logarithms of their weights in the whole bank.
        whitening: as in Belief, ``[L, N, N]``.
        white: W y ``[L, N]``, 0 in pending rows: there each kernel expects its own mean.
    """

    x: Array
    y: Array
    mask: Array
    told: Array
    inverse_scale: Array
    noise: Array
    rough: Array
    signal: Array
    weight: Array
    log_weight: Array
    whitening: Array
    white: Array


def empty(capacity: int, dim: int, groups: tuple[int, ...] | None = None) -> Belief:
    """The belief before the first point."""
    groups = tuple(range(dim)) if groups is None else groups
    size = len(_bank(max(groups) + 1)[1])
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
    gram = _correlation(x, x, scale, kernels.rough)
    eye = jnp.eye(len(y))
    gram = jnp.where(mask[:, None] & mask, gram + kernels.noise[:, None, None] * eye, eye)
    inverse = algebra.whiten(gram)
    log_det = -2 * jnp.log(jnp.diagonal(inverse, axis1=1, axis2=2)).sum(1)
    return Belief(x, y, mask, jnp.where(mask[:, None] & mask, inverse, 0.0), log_det, groups)


def _new_row(whitening: Array, cross: Array, noise: Array, row: Array) -> tuple[Array, Array]:
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
    cross = _correlation(belief.x, x[None], scale, kernels.rough)[..., 0]
    row = jnp.argmin(belief.mask)
    new, pivot = _new_row(belief.whitening, jnp.where(belief.mask, cross, 0.0), kernels.noise, row)
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
    white = algebra.times(belief.whitening, belief.y)
    square = jnp.square(white).sum(1) + PRIOR_SQUARE
    n = belief.mask.sum()
    return -0.5 * ((n + 1) * jnp.log(square) + belief.log_det), white


def likely(belief: Belief, number: int = LIKELY) -> Mixture:
    """The most likely kernels, as many as asked for."""
    kernels = belief.kernels
    log_evidence, white = evidence(belief)
    log_weight, best = jax.lax.top_k(jax.nn.log_softmax(log_evidence + kernels.log_prior), number)
    white = white[best]
    return Mixture(
        x=belief.x,
        y=belief.y,
        mask=belief.mask,
        told=belief.mask,
        inverse_scale=1 / kernels.lengthscale[best][:, belief.groups],
        noise=kernels.noise[best],
        rough=kernels.rough[best],
        signal=(jnp.square(white).sum(1) + PRIOR_SQUARE) / (belief.mask.sum() + 1),
        weight=jax.nn.softmax(log_weight),
        log_weight=log_weight,
        whitening=belief.whitening[best],
        white=white,
    )


def expect(mixture: Mixture, x: Array, wanted: Array | bool = True) -> Mixture:
    """With a pending point ``x [D]``: its place is taken, and no output is known. Nothing unless `wanted`."""
    cross = cross_covariance(mixture, x[None])[..., 0]
    row = jnp.argmin(mixture.mask)
    new, _ = _new_row(mixture.whitening, cross, mixture.noise, row)
    wanted = wanted & ~mixture.mask.all()
    return mixture._replace(
        x=mixture.x.at[row].set(jnp.where(wanted, x, mixture.x[row])),
        mask=mixture.mask.at[row].set(mixture.mask[row] | wanted),
        whitening=mixture.whitening.at[:, row].set(jnp.where(wanted, new, mixture.whitening[:, row])),
    )


def cross_covariance(mixture: Mixture, at: Array) -> Array:
    """k(x, at) / s2 of the points and places ``at [m, D]`` -> ``[L, N, m]``, 0 in rows without a point."""
    return jnp.where(mixture.mask[:, None], covariance(mixture, mixture.x, at), 0.0)


def covariance(mixture: Mixture, a: Array, b: Array) -> Array:
    """k(a, b) / s2 of any places ``a [n, D]``, ``b [m, D]`` before there are points -> ``[L, n, m]``."""
    return _correlation(a, b, mixture.inverse_scale, mixture.rough)


def _correlation(a: Array, b: Array, inverse_scale: Array, rough: Array) -> Array:
    return correlation(square_distance(a, b, inverse_scale), rough[:, None, None]) + MEAN


def moments(mixture: Mixture, at: Array) -> tuple[Array, Array, Array]:
    """Means ``[L, m]`` and variances over the signal's ``[L, m]`` at places, and W k(x, at) ``[L, N, m]``."""
    white_cross = algebra.times(mixture.whitening, cross_covariance(mixture, at))
    means = jnp.einsum("lnm,ln->lm", white_cross, mixture.white)
    return means, jnp.maximum(1 + MEAN - jnp.square(white_cross).sum(1), 1e-5), white_cross


def mean_and_variance(mixture: Mixture, at: Array) -> tuple[Array, Array]:
    """Mean and variance of f ``[m]`` under the mixture: within the kernels and between them."""
    means, variances, _ = moments(mixture, at)
    mean = mixture.weight @ means
    within = (mixture.weight * mixture.signal) @ variances
    return mean, within + mixture.weight @ jnp.square(means - mean)
