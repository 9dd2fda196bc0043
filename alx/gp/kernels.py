"""Stationary correlations of points, at fixed cost and without the expanded square, which float32 ruins."""

import functools

import jax.numpy as jnp
from jax import Array

__all__ = ["correlation", "square_distance"]


def square_distance(a: Array, b: Array, inverse_scale: Array) -> Array:
    """sum_d (a_d - b_d)^2 / l_d^2 of ``a [n, D]``, ``b [m, D]``, ``1 / l [K, D]`` -> ``[K, n, m]``.

    As differences: |a|^2 + |b|^2 - 2 a.b loses all digits of near points, the more where products are
    rounded.
    """

    def one(d: int) -> Array:
        difference = a[:, None, d] - b[None, :, d]
        return jnp.square(difference) * jnp.square(inverse_scale[:, d])[:, None, None]

    return functools.reduce(jnp.add, (one(d) for d in range(a.shape[1])))


def correlation(square: Array, rough: Array) -> Array:
    """RBF, or Matern 5/2 where ``rough``, at scaled squared distances; one exponential serves both."""
    # sqrt has no slope at 0; the correlation there is flat.
    r = jnp.sqrt(5 * jnp.maximum(square, 1e-12))
    polynomial = jnp.where(rough, 1 + r + jnp.square(r) / 3, 1.0)
    return jnp.exp(jnp.where(rough, -r, -0.5 * square)) * polynomial
