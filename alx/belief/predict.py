"""What is predicted of f: a Student t around the model's mean, its deviation calibrated by a policy."""

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import betainc

from alx.belief.belief import Belief
from alx.belief.mixture import Mixture, mean_and_variance
from alx.belief.places import describe, grid_places
from alx.belief.refine import refine
from alx.network.policy import Policy, deviation
from alx.network.score_network import JudgeConfig

__all__ = ["FLOOR", "FREEDOM", "interval", "predict"]

FREEDOM = 6.0  # degrees of freedom of the Student t of predictions
FLOOR = 1e-4  # of their squared scale: what float32 can tell


def predict(belief: Belief | Mixture, x: Array, policy: Policy | None = None) -> tuple[Array, Array]:
    """Mean and standard deviation of f ``[m]`` at places ``x [m, D]``.

    Args:
        belief: what is believed; its kernels are refined first. Hand over `refine(belief)` to do that once.
        x: places in the unit cube.
        policy: with the general policy the deviation is the calibrated one.
    """
    mean, scale = _location_and_scale(belief, x, policy)
    return mean, scale * (FREEDOM / (FREEDOM - 2)) ** 0.5


def interval(
    belief: Belief | Mixture, x: Array, level: Array | float, policy: Policy | None = None
) -> tuple[Array, Array]:
    """Low and high ends ``[m]`` that f lies between with the probability ``level`` at places ``x [m, D]``."""
    mean, scale = _location_and_scale(belief, x, policy)
    width = scale * _t_quantile(0.5 + 0.5 * jnp.asarray(level))
    return mean - width, mean + width


def _location_and_scale(belief: Belief | Mixture, x: Array, policy: Policy | None) -> tuple[Array, Array]:
    """Of the Student t with FREEDOM degrees of freedom that f is predicted by."""
    mixture = refine(belief) if isinstance(belief, Belief) else belief
    mean, variance = mean_and_variance(mixture, x)
    square = variance + FLOOR
    if policy is None or not isinstance(policy.config, JudgeConfig):
        # So that the standard deviation is that of the mixture.
        return mean, jnp.sqrt(square * (FREEDOM - 2) / FREEDOM)
    grid = grid_places(x.shape[1])
    # It was trained on the last query of experiments, and is asked so.
    scene = describe(mixture, jnp.ones(()), x, jnp.ones(len(x), bool), grid, jnp.ones(len(grid), bool))
    return mean, jnp.sqrt(square) * jnp.exp(deviation(policy.params, policy.config, scene))


def _t_quantile(p: Array) -> Array:
    """The quantile of the Student t, p >= 1/2, by bisection of its distribution function."""

    def halve(_, ends):
        low, high = ends
        middle = 0.5 * (low + high)
        below = 1 - 0.5 * betainc(FREEDOM / 2, 0.5, FREEDOM / (FREEDOM + jnp.square(middle))) < p
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    # A loop of the program: written out it would be forty programs, and a hundred megabytes.
    low, high = jax.lax.fori_loop(0, 40, halve, (jnp.zeros_like(p), jnp.full_like(p, 100.0)))
    return 0.5 * (low + high)
