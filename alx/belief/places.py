"""Where could be measured next, and what the belief says of each place.

Places are quasi-random ones all over the domain first, then some around the best of them; of a pool they are
its own points. A place is described by numbers that mean the same for any number of inputs, and so is each
point, so that one network judges all of them, whatever the experiment.
"""

import jax.numpy as jnp
from jax import Array

from alx.belief.mixture import Mixture, covariance, moments
from alx.gp.algebra import times
from alx.gp.kernels import square_distance
from alx.gp.lattice import lattice, steps
from alx.network.sight import Scene

__all__ = [
    "FIRST",
    "GRID",
    "SECOND",
    "describe",
    "first_places",
    "grid_places",
    "places_around",
]

FIRST, SECOND, GRID = 128, 64, 64
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
    features = jnp.stack([*own, *(jnp.broadcast_to(a, mean.shape) for a in alike)]).T
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
