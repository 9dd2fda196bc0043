"""Function draws of any kernel: an exact draw at quasi-random places, continued between them by the kernel.

    g(x) = k(x, P) (k(P, P) + e I)^-1 g(P),   g(P) ~ N(0, k(P, P) + e I)

has the kernel's covariance but for what a posterior given all of g(P) would leave: next to nothing where the
places lie within a lengthscale of each other, and less roughness than the kernel has where they do not.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from alx.gp import algebra as gp
from alx.gp.lattice import lattice
from alx.train.covariance import covariance_of_warped
from alx.train.prior import Prior, Theta

__all__ = ["PLACES", "Interpolant", "draw_interpolant", "evaluate"]

PLACES = 256
JITTER = 1e-4  # of the signal variance: below it float32 cannot factor a smooth kernel's matrix


class Interpolant(NamedTuple):
    """One draw of f: weights ``[PLACES, ...]`` of the kernel at each place, the mean ``[...]``."""

    weights: Array
    mean: Array


def _places(theta: Theta) -> Array:
    """``[D, PLACES, ...]``, the same for every theta."""
    dim, *batch = theta.lengthscale.shape
    return jnp.asarray(lattice(PLACES, dim).T).reshape(dim, PLACES, *(1,) * len(batch))


def draw_interpolant(key: Array, prior: Prior, theta: Theta) -> Interpolant:
    """One function for each theta."""
    return from_normal(prior, theta, jax.random.normal(key, (PLACES, *theta.variance.shape)))


def from_normal(prior: Prior, theta: Theta, normal: Array) -> Interpolant:
    """The function that standard normal numbers ``[PLACES, ...]`` make; its mean is that over the places."""
    places = _places(theta)
    eye = jnp.eye(PLACES).reshape(PLACES, PLACES, *(1,) * theta.variance.ndim)
    k = covariance_of_warped(prior, theta, places, places)
    inverse = gp.inverse_factor(k + JITTER * theta.variance * eye)
    weights = jnp.einsum("ij...,i...->j...", inverse, normal)
    return Interpolant(weights, jnp.einsum("ij...,j...->i...", k, weights).mean(0))


def evaluate(prior: Prior, theta: Theta, function: Interpolant, x: Array) -> Array:
    """g at warped points ``x [D, n, ...]`` -> ``[n, ...]``."""
    k = covariance_of_warped(prior, theta, x, _places(theta))
    return jnp.einsum("ij...,j...->i...", k, function.weights)
