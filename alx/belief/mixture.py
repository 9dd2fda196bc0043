"""The few most likely kernels, which stand for the posterior, and what they say of f."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from alx.belief.bank import LIKELY, MEAN, PRIOR_SQUARE, kernel
from alx.belief.belief import Belief, evidence
from alx.gp import algebra

__all__ = [
    "Mixture",
    "covariance",
    "cross_covariance",
    "likely",
    "mean_and_variance",
    "moments",
]


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


def cross_covariance(mixture: Mixture, at: Array) -> Array:
    """k(x, at) / s2 of the points and places ``at [m, D]`` -> ``[L, N, m]``, 0 in rows without a point."""
    return jnp.where(mixture.mask[:, None], covariance(mixture, mixture.x, at), 0.0)


def covariance(mixture: Mixture, a: Array, b: Array) -> Array:
    """k(a, b) / s2 of any places ``a [n, D]``, ``b [m, D]`` before there are points -> ``[L, n, m]``."""
    return kernel(a, b, mixture.inverse_scale, mixture.rough)


def moments(mixture: Mixture, at: Array) -> tuple[Array, Array, Array]:
    """Means ``[L, m]`` and variances over the signal's ``[L, m]`` at places, and W k(x, at) ``[L, N, m]``."""
    white_cross = algebra.times(mixture.whitening, cross_covariance(mixture, at))
    means = jnp.einsum("lnm,ln->lm", white_cross, mixture.white)
    least = 1e-5 if means.dtype == jnp.float32 else 1e-10  # what the precision leaves of a difference
    return means, jnp.maximum(1 + MEAN - jnp.square(white_cross).sum(1), least), white_cross


def mean_and_variance(mixture: Mixture, at: Array) -> tuple[Array, Array]:
    """Mean and variance of f ``[m]`` under the mixture: within the kernels and between them."""
    means, variances, _ = moments(mixture, at)
    mean = mixture.weight @ means
    within = (mixture.weight * mixture.signal) @ variances
    return mean, within + mixture.weight @ jnp.square(means - mean)
