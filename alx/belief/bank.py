"""The bank: kernels that cover what functions on the unit cube are like.

A kernel of the bank is s2 (k(x, x') + MEAN + noise^2 [x = x']): an RBF or Matern correlation with one
lengthscale per input, a constant whose size is unknown and stands for the mean of the outputs, and noise in
units of the signal. The signal variance s2 is integrated out under an inverse gamma prior, IG(1/2, 1/4).
"""

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from alx.gp.algebra import times
from alx.gp.kernels import correlation, square_distance
from alx.gp.lattice import lattice

__all__ = ["LIKELY", "MEAN", "PRIOR_SQUARE", "Bank", "bank", "gram", "kernel"]

LIKELY = 6  # kernels that stand for the posterior
SIZES = {1: 64, 2: 96, 3: 160, 4: 256, 5: 320}  # of the bank; MOST for more inputs
MOST = 384
SHORTEST = (0.06, 0.09)  # lengthscales that so few points can tell: up to two inputs, and above
LONGEST = 4.0
NOISE = (0.03, 0.7)
ROUGH = 0.3  # share of Matern kernels
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


def bank(dim: int) -> Bank:
    """The kernels for this number of inputs."""
    return Bank(*map(jnp.asarray, _bank(dim)))


def kernel(a: Array, b: Array, inverse_scale: Array, rough: Array) -> Array:
    """k(a, b) / s2 without noise of ``a [n, D]``, ``b [m, D]`` under each kernel -> ``[K, n, m]``."""
    return correlation(square_distance(a, b, inverse_scale), rough[:, None, None]) + MEAN


def gram(x: Array, inverse_scale: Array, rough: Array) -> Array:
    """k(x, x) / s2 without noise of points ``x [N, D]`` under each kernel -> ``[K, N, N]``.

    With the kernels last while it is computed: there are many of them, and loops over few points are slow.
    """
    apart = jnp.square(x[:, None] - x).reshape(-1, x.shape[1])
    square = times(apart, jnp.square(inverse_scale).T).reshape(len(x), len(x), -1)
    return jnp.moveaxis(correlation(square, rough) + MEAN, -1, 0)
