"""Training of the deviation: how far the belief's mean is off where nothing was measured.

Data sets of simulated functions, of any size and partly made by the judge itself. The loss is minus the log
density of held-out values under the Student t of `alx.belief.predict`.
"""

import jax
import jax.numpy as jnp
from jax import Array

from alx.belief import believe, mean_and_variance, refine
from alx.belief.places import describe, grid_places
from alx.belief.predict import FLOOR, FREEDOM
from alx.history import History
from alx.network.policy import Params, deviation
from alx.network.sight import Scene
from alx.train.general import HELD_OUT, measure, play, simulate, truth
from alx.train.general_config import GeneralConfig, Shape

__all__ = ["examples", "loss"]


def examples(
    params: Params, config: GeneralConfig, shape: Shape, key: Array
) -> tuple[Scene, Array, Array, Array]:
    """Scenes of held-out places ``[B, HELD_OUT, ...]``, mean, variance and truth there ``[B, HELD_OUT]``."""
    key, key_given, key_size = jax.random.split(key, 3)
    case = simulate(key, config, shape, config.chunk)
    # Any share of the points is the judge's choice, from none to all.
    given = jax.random.randint(key_given, (), 0, shape.capacity + 1)
    x = play(params, config, shape, case._replace(start=case.start._replace(given=given))).x
    y = measure(config, case, jnp.moveaxis(x, 2, 0), case.simulation.noise).T
    size = jax.random.randint(key_size, (config.chunk,), 1, shape.capacity + 1)
    at = jnp.moveaxis(case.simulation.grid, 2, 0)

    def one(x: Array, y: Array, n: Array, at: Array):
        mixture = refine(believe(History(x, y, jnp.arange(shape.capacity) < n)))
        at, grid = at.T[:HELD_OUT], grid_places(shape.dim)
        allowed, covered = jnp.ones(len(at), bool), jnp.ones(len(grid), bool)
        return describe(mixture, jnp.ones(()), at, allowed, grid, covered), *mean_and_variance(mixture, at)

    return *jax.vmap(one)(jnp.moveaxis(x, 0, 1), y, size, at), truth(case).T


def loss(
    params: Params, config: GeneralConfig, scene: Scene, mean: Array, variance: Array, truth: Array
) -> Array:
    """Minus the mean log density of the truth, but for a constant."""
    factor = jax.vmap(lambda scene: deviation(params, config.judge, scene))(scene)
    log_square = jnp.log(variance + FLOOR) + 2 * factor
    off = jnp.square(truth - mean) / jnp.exp(log_square) / FREEDOM
    return (0.5 * log_square + 0.5 * (FREEDOM + 1) * jnp.log1p(off)).mean()
