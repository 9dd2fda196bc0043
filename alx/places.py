"""Where could be measured next, and what the belief says of each place.

Places are quasi-random ones all over the domain first, then some around the best of them; of a pool they are
its own points. A place is described by numbers that mean the same for any number of inputs, and so is each
point, so that one network judges all of them, whatever the experiment.
"""

import jax.numpy as jnp
from jax import Array
from jax.scipy.special import betainc

from alx.belief import Belief, Mixture, covariance, likely, mean_and_variance, moments
from alx.gp.algebra import times
from alx.gp.kernels import square_distance
from alx.gp.lattice import lattice, steps
from alx.network.judge import JudgeConfig
from alx.network.policy import Policy, deviation
from alx.network.sight import Scene

__all__ = [
    "FIRST",
    "GRID",
    "SECOND",
    "describe",
    "first_places",
    "grid_places",
    "interval",
    "places_around",
    "predict",
]

FIRST, SECOND, GRID = 128, 64, 64
FREEDOM = 6.0  # degrees of freedom of the Student t of predictions
FLOOR = 4e-4  # of their squared scale: what float32 can tell
REACH = 0.6  # of the spacing of the first places, to either side, is where the second ones lie


def first_places(dim: int, count: Array | int = 0) -> Array:
    """Places all over the unit cube ``[FIRST, D]``, other ones for each number of points so far."""
    return (jnp.asarray(lattice(FIRST, dim)) + _shift(count, dim, 0.5)) % 1


def grid_places(dim: int, count: Array | int = 0) -> Array:
    """Where the variance is averaged ``[GRID, D]``, elsewhere for each number of points so far."""
    return (jnp.asarray(lattice(GRID, dim)) + _shift(count, dim, 0.3)) % 1


def _shift(count: Array | int, dim: int, part: float) -> Array:
    # The lattice's own steps a fraction at a time: no two numbers of points share their places.
    return (jnp.asarray(count)[..., None] * (part * steps(dim)).astype("float32")) % 1


def places_around(best: Array) -> Array:
    """Places around the best of the first ones, itself included ``[SECOND, D]``."""
    dim = best.shape[-1]
    offsets = (2 * lattice(SECOND, dim) - 1) * (REACH * FIRST ** (-1 / dim))
    offsets[0] = 0
    return jnp.clip(best + offsets, 0, 1)


def describe(
    mixture: Mixture, remaining: Array, places: Array, allowed: Array, grid: Array, covered: Array
) -> Scene:
    """Places ``[C, D]`` and points as the network sees them, with so many queries to go.

    Args:
        mixture: the belief, pending points included.
        remaining: queries to go, this one among them.
        places: places ``[C, D]``.
        allowed: which of them may be taken ``[C]``.
        grid: where the variance is to be low ``[G, D]``.
        covered: which of these belong to the domain ``[G]``.
    """
    weight, signal = mixture.weight, mixture.weight * mixture.signal
    share = covered / jnp.maximum(covered.sum(), 1)
    means, variances, white_places = moments(mixture, places)
    _, grid_variances, white_grid = moments(mixture, grid)
    between = covariance(mixture, places, grid) - times(white_places.swapaxes(1, 2), white_grid)
    reduction = signal @ (jnp.square(between) @ share / (variances + mixture.noise[:, None]))
    total = signal @ (grid_variances @ share)
    variance, mean = signal @ variances, weight @ means
    disagreement = weight @ jnp.square(means - mean)
    scale = jnp.exp(-weight @ jnp.log(mixture.inverse_scale))
    border = jnp.minimum(places, 1 - places)
    told, n = mixture.told, mixture.mask.sum()
    left = remaining + 0.0
    tiny = 1e-6
    own = [
        0.3 * jnp.log(reduction / (total + tiny) + 1e-8),
        0.3 * jnp.log(variance + tiny),
        0.2 * jnp.log(disagreement / (variance + tiny) + tiny),
        0.2 * jnp.log(disagreement / (total + tiny) + tiny),
        0.5 * jnp.log(variance / (total + tiny)),
        mean,
        jnp.abs(mean),
        2 * border.min(1),
        2 * border.mean(1),
        0.5 * jnp.log((border / jnp.minimum(scale, 1)).min(1) + 0.1),
    ]
    alike = [
        0.4 * jnp.log(n + 1.0),
        0.4 * jnp.log(left),
        0.3 * jnp.log(total + 1e-4),
        jnp.log(left) - jnp.log(n + left),
        -0.2 * (weight * mixture.log_weight).sum(),
        0.5 * jnp.log(weight @ mixture.noise),
    ]
    features = jnp.stack([*own, *(jnp.broadcast_to(a, mean.shape) for a in alike)], -1)
    apart = jnp.concatenate(
        [
            square_distance(places, mixture.x, 1 / scale[None]),
            square_distance(places, mixture.x, jnp.full((1, len(scale)), len(scale) ** -0.5)),
        ]
    )
    gain = jnp.log(reduction + 1e-9)
    return Scene(features, gain, apart, _describe_points(mixture, told), mixture.mask, allowed)


def _describe_points(mixture: Mixture, told: Array) -> Array:
    """Each point against what the others predict for it (leave one out) ``[N, POINT_FEATURES]``."""
    weight = mixture.weight
    # Without the rows of pending points, which come last, W is that of the told points alone.
    whitening = jnp.where(told[:, None], mixture.whitening, 0.0)
    pull = jnp.einsum("lij,li->lj", whitening, mixture.white)
    precision = jnp.maximum(jnp.square(whitening).sum(1), 1e-6)
    residual = pull / precision
    off = weight @ jnp.square(residual)
    surprise = weight @ (jnp.square(pull) / precision / mixture.signal[:, None])
    spread = weight @ (mixture.signal[:, None] / precision)
    tokens = [
        0.5 * jnp.log(off + 0.01),
        0.5 * jnp.log(surprise + 0.03),
        0.5 * jnp.log(spread + 0.01),
        weight @ residual,
        mixture.y,
        jnp.abs(mixture.y),
    ]
    tokens = [jnp.where(told, token, 0.0) for token in tokens]
    return jnp.stack([*tokens, jnp.where(told, 0.0, 1.0)], -1)


def predict(belief: Belief | Mixture, x: Array, policy: Policy | None = None) -> tuple[Array, Array]:
    """Mean and standard deviation of f ``[m]`` at places ``x [m, D]``.

    Args:
        belief: what is believed.
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
    mixture = likely(belief) if isinstance(belief, Belief) else belief
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
    low, high = jnp.zeros_like(p), jnp.full_like(p, 100.0)
    for _ in range(40):
        middle = 0.5 * (low + high)
        below = 1 - 0.5 * betainc(FREEDOM / 2, 0.5, FREEDOM / (FREEDOM + jnp.square(middle))) < p
        low, high = jnp.where(below, middle, low), jnp.where(below, high, middle)
    return 0.5 * (low + high)
