"""Classical active learning: refit the GP, score candidates, take the best.

Experiments lead here (``x [S, n, D]``), as a caller on the host has them.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import erf

from benchmarks.evaluation import gp_model

__all__ = ["entropy", "integrated_variance", "overlap", "select"]


def entropy(posterior: gp_model.Posterior, candidates: Array) -> Array:
    """Predictive entropy ``[m, S]`` up to what does not change its order: 1/2 log(variance + s2)."""
    _, variance = gp_model.predict(posterior, candidates)
    return 0.5 * jnp.log(variance + jnp.exp(posterior.theta[-1]))


def integrated_variance(posterior: gp_model.Posterior, candidates: Array) -> Array:
    """By how much a label at a candidate lowers the posterior variance integrated over the window ``[m, S]``.

    That is the integral of cov(x, c)^2 / (var(c) + s2) over x in [0,1]^D, in closed form: with
    I(a, b) the integral of k(x,a) k(x,b) and w = K^-1 k(X,c) it is
    (I(c,c) - 2 w^T I(X,c) + w^T I(X,X) w) / (var(c) + s2).
    """
    theta, train, inverse, _ = posterior
    cross = gp_model.kernel(theta, candidates, train)
    weight = jnp.einsum("mns,nks->mks", cross, inverse)
    variance = jnp.maximum(jnp.exp(theta[0]) - (weight * cross).sum(1), 0)
    squared = (
        overlap(theta, candidates, candidates)
        - 2 * (weight * overlap(theta, candidates[:, :, None], train[:, None])).sum(1)
        + (
            jnp.einsum("mns,nks->mks", weight, overlap(theta, train[:, :, None], train[:, None])) * weight
        ).sum(1)
    )
    return squared / (variance + jnp.exp(theta[-1]))


def overlap(theta: Array, a: Array, b: Array) -> Array:
    """I(a, b): the integral of k(x,a) k(x,b) over the unit cube, for inputs ``[D, ..., S]``."""
    product = jnp.exp(2 * theta[0])
    for a_d, b_d, length in zip(a, b, jnp.exp(theta[1:-1]), strict=True):
        middle = (a_d + b_d) / 2
        mass = erf((1 - middle) / length) + erf(middle / length)
        product = (
            product * (np.sqrt(np.pi) / 2) * length * mass * jnp.exp(-jnp.square((a_d - b_d) / (2 * length)))
        )
    return product


@functools.partial(jax.jit, static_argnums=0)
def _best(score, theta: Array, x: Array, y: Array, mask: Array, candidates: Array, available: Array) -> Array:
    scores = score(gp_model.condition(theta, x, y, mask), candidates)
    return jnp.argmax(jnp.where(available, scores, -jnp.inf), 0)


def select(score, x, y, mask, candidates, available) -> np.ndarray:
    """The index of the best available candidate ``[S]`` after refitting the model.

    Args:
        score: ``entropy`` or ``integrated_variance``.
        x: inputs so far ``[S, n, D]``, with y and mask ``[S, n]``.
        candidates: ``[S, m, D]``.
        available: which of them may be taken, ``[S, m]``.
    """
    with jax.enable_x64(True):
        data = (*(jnp.asarray(np.asarray(a, float).T) for a in (x, y)), jnp.asarray(np.asarray(mask).T))
        theta, _ = gp_model.fit_jitted(*data)
        candidates = jnp.asarray(np.asarray(candidates, float).T)
        return np.asarray(_best(score, theta, *data, candidates, np.asarray(available).T))
