"""What is predicted of f: a Student t around the model's mean, and the error of that mean over the domain.

With a policy both are calibrated, see `alx.network.deviation`.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import betainc

from alx.belief.belief import Belief
from alx.belief.mixture import Mixture, mean_and_variance
from alx.belief.places import describe, grid_places
from alx.belief.refine import refine
from alx.network.deviation import FREEDOM, Calibration
from alx.network.policy import Policy, deviation
from alx.network.score_network import JudgeConfig
from alx.network.sight import Scene

__all__ = ["error", "interval", "log_error", "log_scale", "predict", "seen", "t_quantile"]

FLOOR, FLOOR_DOUBLE = 1e-4, 1e-8  # of the variance: what float32 and float64 can tell
# The scale of log(estimated error / true one) is this over the root of the number of points where no policy
# says it.
LOG_SPREAD = 2.0


def predict(belief: Belief | Mixture, x: Array, policy: Policy | None = None) -> tuple[Array, Array]:
    """Mean and standard deviation of f ``[m]`` at places ``x [m, D]``.

    Args:
        belief: what is believed; its kernels are refined first. Hand over `refine(belief)` to do that once.
        x: places in the unit cube.
        policy: with the general policy the deviation is the calibrated one.
    """
    mean, scale, freedom = _student(_model(belief), x, policy)
    return mean, scale * jnp.sqrt(freedom / (freedom - 2))


def interval(
    belief: Belief | Mixture, x: Array, level: Array | float = 0.9, policy: Policy | None = None
) -> tuple[Array, Array]:
    """Low and high ends ``[m]`` that f lies between with the probability ``level`` at places ``x [m, D]``."""
    mean, scale, freedom = _student(_model(belief), x, policy)
    width = scale * t_quantile(0.5 + 0.5 * jnp.asarray(level), freedom)
    return mean - width, mean + width


def error(
    belief: Belief | Mixture, x: Array, there: Array | None = None, policy: Policy | None = None
) -> tuple[Array, Array]:
    """The root-mean-square error of the mean over a domain, and how far the log of that may be off: the scale
    of a Student t with `FREEDOM` degrees of freedom.

    Args:
        belief: as in `predict`.
        x: places ``[m, D]`` all over the domain.
        there: which of them belong to it ``[m]``; all by default.
        policy: with the general policy both are calibrated.
    """
    mixture, there = _model(belief), jnp.ones(len(x), bool) if there is None else there
    judge = _judge(policy)
    if policy is None or judge is None:
        _, square = _mean_and_square(mixture, x)
        return _pooled(square, there), LOG_SPREAD / jnp.sqrt(jnp.maximum(mixture.told.sum(), 1))
    scene, _, square = seen(mixture, x, there)
    found = deviation(policy.params, judge, scene)
    return jnp.exp(log_error(square, there, found)), jnp.exp(found.log_spread)


def seen(mixture: Mixture, x: Array, there: Array) -> tuple[Scene, Array, Array]:
    """Places ``[m, D]`` as a policy sees them, and the mixture's own mean and variance of f there ``[m]``."""
    grid = grid_places(x.shape[1])
    # Asked as before the last query.
    scene = describe(mixture, jnp.ones(()), x, there, grid, jnp.ones(len(grid), bool))
    return scene, *_mean_and_square(mixture, x)


def log_scale(square: Array, found: Calibration) -> Array:
    """log of the scale of the Student t of f ``[m]``, of its variance under the mixture."""
    return 0.5 * jnp.log(square) + found.log_factor


def log_error(square: Array, there: Array, found: Calibration) -> Array:
    """log of the root-mean-square error over the places that are there."""
    # The scale of a place is trained by what was found there, and by the error only a factor for all of them.
    scale = jax.lax.stop_gradient(log_scale(square, found))
    return jnp.log(_pooled(jnp.exp(2 * scale), there)) + found.log_error


def _pooled(square: Array, there: Array) -> Array:
    """The root of the mean of the squares ``[m]`` that are there."""
    return jnp.sqrt(jnp.where(there, square, 0).sum() / jnp.maximum(there.sum(), 1))


def _mean_and_square(mixture: Mixture, x: Array) -> tuple[Array, Array]:
    """Mean and variance of f ``[m]`` under the mixture, the latter not below what the precision can tell."""
    mean, variance = mean_and_variance(mixture, x)
    return mean, variance + (FLOOR if variance.dtype == jnp.float32 else FLOOR_DOUBLE)


def _model(belief: Belief | Mixture) -> Mixture:
    return refine(belief) if isinstance(belief, Belief) else belief


def _judge(policy: Policy | None) -> JudgeConfig | None:
    """The config of the general policy; others calibrate nothing."""
    config = None if policy is None else policy.config
    return config if isinstance(config, JudgeConfig) else None


def _student(mixture: Mixture, x: Array, policy: Policy | None) -> tuple[Array, Array, Array]:
    """Location, scale and degrees of freedom of the Student t that f is predicted by."""
    judge = _judge(policy)
    if policy is None or judge is None:
        mean, square = _mean_and_square(mixture, x)
        # So that the standard deviation is that of the mixture.
        return mean, jnp.sqrt(square * (FREEDOM - 2) / FREEDOM), jnp.full_like(square, FREEDOM)
    scene, mean, square = seen(mixture, x, jnp.ones(len(x), bool))
    found = deviation(policy.params, judge, scene)
    return mean, jnp.exp(log_scale(square, found)), found.freedom


def t_quantile(p: Array, freedom: Array) -> Array:
    """The quantile of the Student t, p >= 1/2, by bisection of its distribution function."""

    def halve(_, ends):
        low, high = ends
        middle = 0.5 * (low + high)
        below = 1 - 0.5 * betainc(freedom / 2, 0.5, freedom / (freedom + jnp.square(middle))) < p
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    # A loop of the program: written out it would be forty programs, and a hundred megabytes.
    low, high = jax.lax.fori_loop(0, 40, halve, (jnp.zeros_like(freedom), jnp.full_like(freedom, 100.0)))
    return 0.5 * (low + high)
