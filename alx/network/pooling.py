"""Weighted sums over the points of a history, for many experiments at once.

    pooled_km = sum_j weights_mj values_kj

As in `alx.network.attention`, on a CPU and for many experiments the sums are written out, each term one long
vector operation over the experiments; elsewhere they are a matrix product.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

__all__ = ["pool", "pool_by_product", "pool_by_sums"]


def pool(weights: Array, values: Array) -> Array:
    """Sum ``weights [m, token, ...]`` times ``values [k, token, ...]`` over the tokens: ``[k, m, ...]``."""
    if weights.ndim == 2:
        return pool_by_product(weights, values)
    return jax.lax.platform_dependent(weights, values, cpu=pool_by_sums, default=pool_by_product)


def pool_by_product(weights: Array, values: Array) -> Array:
    """One batched matrix product."""
    return jnp.einsum("mj...,kj...->km...", weights, values)


def _sum(term: Callable[[int], Array], n: int) -> Array:
    return functools.reduce(jnp.add, (term(i) for i in range(n)))


@jax.custom_vjp
def pool_by_sums(weights: Array, values: Array) -> Array:
    """The same with the sums written out."""
    return _sum(lambda j: weights[None, :, j] * values[:, None, j], weights.shape[1])


def _forward(weights, values):
    # Divided by a one that the compiler does not know, they are written out as whole arrays, which is what
    # the vector operations need; as slices of a scan's carry they would be read element by element.
    one = jnp.exp(0 * values[(0,) * values.ndim])
    weights, values = weights / one, values / one
    return pool_by_sums(weights, values) / one, (weights, values, one)


def _backward(residuals, g):
    weights, values, one = residuals
    g = g / one
    g_weights = _sum(lambda k: g[k, :, None] * values[k][None], len(values)) / one
    g_values = _sum(lambda m: g[:, m, None] * weights[m][None], len(weights)) / one
    return g_weights, g_values


pool_by_sums.defvjp(_forward, _backward)
