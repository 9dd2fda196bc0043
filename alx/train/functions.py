"""Function draws by random Fourier features, shifted to zero mean over [0, 1]^D.

    f(x) = s(x) (g(w(x)) - mean g),   g(x) = sum_l w_l sqrt(2/L) cos(a_l . x + b_l)

with w_l ~ N(0, v), b_l ~ U(0, 2 pi) and a_l from the kernel's spectral density. The mean over the cube is
exact and without singularities in any dimension:

    mean cos(a . x + b) = cos(b + sum_d a_d / 2) prod_d sinc(a_d / 2),   sinc(z) = sin(z) / z

Of a kernel whose spectral density is not known, one of tinygp's, draws are those of `alx.train.interpolate`.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from alx.train import interpolate
from alx.train.covariance import amplitude, spectrum, warp
from alx.train.interpolate import Interpolant
from alx.train.prior import Prior, Theta

__all__ = ["FEATURES", "Function", "cos", "draw_function", "evaluate", "features", "window_mean"]

FEATURES = 100  # L of the paper


class Function(NamedTuple):
    """One draw of f: weights and phases ``[L, ...]``, frequencies ``[L, D, ...]``, the mean ``[...]``."""

    weights: Array
    frequencies: Array
    phases: Array
    mean: Array


def draw_function(key: Array, prior: Prior, theta: Theta) -> Function | Interpolant:
    """One function for each theta."""
    if not prior.named:
        return interpolate.draw_interpolant(key, prior, theta)
    key_a, key_b, key_w = jax.random.split(key, 3)
    shape = (FEATURES, *theta.variance.shape)
    a = spectrum(key_a, prior, theta, FEATURES)
    b = jax.random.uniform(key_b, shape, maxval=2 * jnp.pi)
    w = jax.random.normal(key_w, shape) * jnp.sqrt(2 / FEATURES * theta.variance)
    return Function(w, a, b, window_mean(w, a, b))


def window_mean(weights: Array, frequencies: Array, phases: Array) -> Array:
    """Mean of sum_l w_l cos(a_l . x + b_l) over the unit cube."""
    half = frequencies / 2
    return (weights * jnp.cos(phases + half.sum(1)) * _sinc(half).prod(1)).sum(0)


def _sinc(z: Array) -> Array:
    """sin(z) / z; jnp.sinc of jax 0.12 cannot be used under shard_map."""
    divisor = jnp.where(z == 0, 1, z)
    return jnp.where(z == 0, 1, jnp.sin(divisor) / divisor)


def features(prior: Prior, theta: Theta, function: Function, x: Array) -> Array:
    """cos(a_l . w(x) + b_l) of points ``x [D, n, ...]`` -> ``[L, n, ...]``."""
    u = warp(prior, theta, x)
    angle = sum(function.frequencies[:, d, None] * _broadcast_features(u[d]) for d in range(x.shape[0]))
    return cos(angle + function.phases[:, None])


def evaluate(prior: Prior, theta: Theta, function: Function | Interpolant, x: Array) -> Array:
    """f at points ``x [D, n, ...]`` -> ``[n, ...]``."""
    if isinstance(function, Interpolant):
        g = interpolate.evaluate(prior, theta, function, warp(prior, theta, x))
    else:
        g = _sum_features(function.weights[:, None] * features(prior, theta, function, x))
    return amplitude(prior, theta, x) * (g - function.mean)


@jax.custom_vjp
def cos(angle: Array) -> Array:
    """cos and, backwards, sin by their series after whole turns are taken off.

    Most of a function's cost is this, and on CPUs XLA's own takes several times as long.
    """
    return _cos(angle)[0]


def _cos(angle):
    turns = angle / (2 * jnp.pi)
    angle = 2 * jnp.pi * (turns - jnp.round(turns))
    square = jnp.square(angle)
    even, odd = jnp.ones_like(angle), jnp.ones_like(angle)
    for k in range(2 * (10 if angle.dtype == jnp.float32 else 16), 0, -2):
        even = 1 - even * square / (k * (k - 1))
        odd = 1 - odd * square / (k * (k + 1))
    return even, -angle * odd


cos.defvjp(_cos, lambda slope, g: (g * slope,))


@jax.custom_vjp
def _broadcast_features(x: Array) -> Array:
    """The same for each feature."""
    return jnp.broadcast_to(x, (FEATURES, *x.shape))


@jax.custom_vjp
def _sum_features(terms: Array) -> Array:
    """Sum over the leading axis in two short sums of vectors, which XLA's reduction on CPUs is slow at."""
    for rows in (FEATURES // 10, FEATURES // 100):
        terms = functools.reduce(jnp.add, (terms[i * rows : (i + 1) * rows] for i in range(10)))
    return terms[0]


_broadcast_features.defvjp(lambda x: (_broadcast_features(x), None), lambda _, g: (_sum_features(g),))
_sum_features.defvjp(lambda terms: (_sum_features(terms), None), lambda _, g: (_broadcast_features(g),))
