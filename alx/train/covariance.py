"""The kernels of a prior: covariance, variance and spectral density under a theta.

As everywhere in training, arrays begin with the axes of one experiment and end with that of experiments.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from alx.network.layers import total
from alx.train.prior import Kernel, Prior, Theta, found_kernel

__all__ = ["amplitude", "covariance", "covariance_of_warped", "spectrum", "variance", "warp"]


def amplitude(prior: Prior, theta: Theta, x: Array) -> Array:
    """s(x) of ``x [D, n, ...]``: 0.08 + 0.5 exp(-|x-c|^2 / 2r^2) / (0.3 + r) where modulated, else 1."""
    if prior.modulated == 0:
        return jnp.ones(())
    distance = jnp.square(x - theta.centre[:, None]).sum(0)
    bump = 0.08 + 0.5 * jnp.exp(-0.5 * distance / theta.radius**2) / (0.3 + theta.radius)
    return jnp.where(theta.modulated, bump, 1.0)


def warp(prior: Prior, theta: Theta, x: Array) -> Array:
    """w(x) of ``x [D, n, ...]``: 1 - (1 - x^a)^b per input where warped, else x."""
    if prior.warped == 0:
        return x
    # The slope is infinite on the border for a < 1 or b < 1, which no gradient survives.
    inner = jnp.clip(x, 1e-4, 1 - 1e-4)
    kumaraswamy = 1 - (1 - inner ** theta.shape_a[:, None]) ** theta.shape_b[:, None]
    return jnp.where(theta.warped, kumaraswamy, x)


def _correlation(kernel: str, square: Array) -> Array:
    """Correlation of one of alx's own kernels at a scaled squared distance."""
    if kernel == "rbf":
        return jnp.exp(-0.5 * square)
    # sqrt has no slope at 0; the correlation there is flat.
    r = jnp.sqrt(jnp.maximum(square, 1e-12)) * (3 if kernel == "matern32" else 5) ** 0.5
    return jnp.exp(-r) * (1 + r if kernel == "matern32" else 1 + r + r**2 / 3)


@jax.custom_vjp
def _pairwise_difference(a: Array, b: Array) -> Array:
    """a_i - b_j of ``a [n, ...]``, ``b [m, ...]`` -> ``[n, m, ...]``."""
    return a[:, None] - b[None]


def _pairwise_difference_backward(_, g):
    return g.sum(1), -total(g)


_pairwise_difference.defvjp(lambda a, b: (_pairwise_difference(a, b), None), _pairwise_difference_backward)


def covariance(prior: Prior, theta: Theta, x: Array, z: Array) -> Array:
    """k(x, z): ``x [D, n, ...]``, ``z [D, m, ...]`` -> ``[n, m, ...]``."""
    k = covariance_of_warped(prior, theta, warp(prior, theta, x), warp(prior, theta, z))
    if prior.modulated:
        k = k * amplitude(prior, theta, x)[:, None] * amplitude(prior, theta, z)[None]
    return k


def covariance_of_warped(prior: Prior, theta: Theta, warped_x: Array, warped_z: Array) -> Array:
    """v k0 of points that are warped already: what is left of `covariance` without the amplitudes."""
    # As divisions, which XLA never computes again for each pair of points.
    u, w = warped_x / theta.lengthscale[:, None], warped_z / theta.lengthscale[:, None]
    batch = jnp.broadcast_shapes(u.shape[2:], w.shape[2:])
    u, w = (jnp.broadcast_to(a, a.shape[:2] + batch) for a in (u, w))
    apart = (_pairwise_difference(a, b) for a, b in zip(u, w, strict=True))
    square = functools.reduce(jnp.add, map(jnp.square, apart))

    def k0(kernel: Kernel) -> Array:
        return _correlation(kernel, square) if isinstance(kernel, str) else _tinygp(kernel, u, w)

    k = _choose(prior, theta, k0)
    if prior.oscillating:
        phase_x, phase_z = (jnp.einsum("d...,dn...->n...", theta.frequency, a) for a in (warped_x, warped_z))
        k = k * jnp.cos(phase_x[:, None] - phase_z[None])
    return theta.variance * k


def variance(prior: Prior, theta: Theta, x: Array) -> Array:
    """k(x, x) of each of the points ``x [D, n, ...]`` -> ``[n, ...]``."""
    v = theta.variance * jnp.square(amplitude(prior, theta, x)) * jnp.ones_like(x[0])
    if prior.named:
        return v
    u = warp(prior, theta, x) / theta.lengthscale[:, None]
    return v * _choose(prior, theta, lambda k: 1.0 if isinstance(k, str) else _tinygp(k, u))


def _choose(prior: Prior, theta: Theta, value: Callable[[Kernel], Any]) -> Array:
    """The value of each experiment's own kernel."""
    first, *others = (value(found_kernel(kernel)) for kernel in prior.kernels)
    for index, other in enumerate(others, 1):
        first = jnp.where(theta.kernel == index, other, first)
    return first


def _tinygp(kernel: Kernel, *points: Array) -> Array:
    """A kernel of tinygp between all pairs of ``[D, n, ...]``, ``[D, m, ...]``, or of each point itself."""
    batch = points[0].shape[2:]
    flat = (a.reshape(*a.shape[:2], -1) for a in points)
    k = jax.vmap(lambda *each: kernel(*(a.T for a in each)), -1, -1)(*flat)  # pyright: ignore
    return k.reshape(*k.shape[:-1], *batch)


def spectrum(key: Array, prior: Prior, theta: Theta, features: int) -> Array:
    """Draw ``features`` frequencies ``[features, D, ...]`` from the spectral density of k0.

    RBF: N(0, diag(1/l^2)). Matern nu: multivariate t with 2 nu degrees of freedom, a normal vector
    divided by sqrt(u / 2 nu), u ~ chi2(2 nu), with one u for all inputs of a feature. An oscillation
    shifts it.
    """
    key_normal, key_chi2 = jax.random.split(key)
    batch = theta.variance.shape
    a = jax.random.normal(key_normal, (features, *theta.lengthscale.shape)) / theta.lengthscale
    if prior.kernels != ("rbf",):
        # chi2 of 3 and of 5 degrees of freedom as sums of squares: far cheaper than a gamma sampler.
        squares = jnp.square(jax.random.normal(key_chi2, (5, features, *batch)))
        for index, kernel in enumerate(prior.kernels):
            if kernel != "rbf":
                dof = 3 if kernel == "matern32" else 5
                t = a * jnp.sqrt(dof / sum(squares[i] for i in range(dof)))[:, None]
                a = jnp.where(theta.kernel == index, t, a)
    return a + theta.frequency if prior.oscillating else a
