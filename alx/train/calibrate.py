"""Training of the deviation: how far the model's mean is off where nothing was measured.

Data sets of simulated functions, of any size and partly made by the judge itself, with outputs standardised
as a learner does it and the model in double precision, as a learner has it. The loss is minus the log density
of held-out values under the Student t of `alx.belief.predict`, and minus that of the log of their
root-mean-square error.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.stats import t as student

from alx.belief import believe, refine
from alx.belief.predict import log_error, log_scale, seen
from alx.history import History
from alx.network.deviation import FREEDOM
from alx.network.policy import Params, deviation
from alx.network.sight import Scene
from alx.train.general import HELD_OUT, Case, measure, play, simulate, truth
from alx.train.general_config import GeneralConfig, Shape

__all__ = ["examples", "loss"]

KNOWN = 0.25  # share of learners who are told the scale of their outputs, as users of JAX do
EXACT, QUIET = 0.1, 0.15  # shares of experiments without noise, and with less than the prior's
LEAST_NOISE = 1e-4  # of the prior's
TINY = 1e-14  # of a squared error, whose log is taken


def examples(
    params: Params, config: GeneralConfig, shape: Shape, key: Array
) -> tuple[Scene, Array, Array, Array]:
    """Scenes of held-out places ``[B, HELD_OUT, ...]``, mean, variance and truth there ``[B, HELD_OUT]``."""
    key, key_quiet, key_given, key_size, key_known = jax.random.split(key, 5)
    case = quieten(key_quiet, simulate(key, config, shape, config.chunk))
    # Half of the time all points are the judge's choice, as most learners have them, else any share of them.
    key_given, key_all = jax.random.split(key_given)
    given = jax.random.randint(key_given, (), 0, shape.capacity + 1)
    given = jnp.where(jax.random.bernoulli(key_all), 0, given)
    x = play(params, config, shape, case._replace(start=case.start._replace(given=given))).x
    y = measure(config, case, jnp.moveaxis(x, 2, 0), case.simulation.noise).T
    size = jax.random.randint(key_size, (config.chunk,), 1, shape.capacity + 1)
    known = jax.random.uniform(key_known, (config.chunk,)) < KNOWN
    at = jnp.moveaxis(case.simulation.grid, 2, 0)

    def one(x: Array, y: Array, truth: Array, n: Array, known: Array, at: Array):
        mask = jnp.arange(shape.capacity) < n
        centre, spread = own_scale(y, mask)
        told = known | (spread == 0)
        centre, spread = jnp.where(told, 0.0, centre), jnp.where(told, 1.0, spread)
        y, truth = (y - centre) / spread, (truth - centre) / spread
        belief = believe(History(x, y, mask))
        with jax.enable_x64(True):
            model = refine(belief, (x.astype(float), jnp.where(mask, y, 0).astype(float)))
            found = seen(model, at.T[:HELD_OUT].astype(float), jnp.ones(HELD_OUT, bool))
            return *jax.tree.map(_narrow, found), truth

    return jax.vmap(one)(jnp.moveaxis(x, 0, 1), y, truth(case).T, size, known, at)


def quieten(key: Array, case: Case) -> Case:
    """With little noise in some experiments, and none in others: a model is told from many points then."""
    key, key_less = jax.random.split(key)
    u = jax.random.uniform(key, case.exact.shape)
    less = LEAST_NOISE ** jax.random.uniform(key_less, u.shape)
    factor = jnp.where(u < EXACT, 0.0, jnp.where(u < EXACT + QUIET, less, 1.0))
    noise = case.simulation.noise * factor
    return case._replace(simulation=case.simulation._replace(noise=noise))


def own_scale(y: Array, mask: Array) -> tuple[Array, Array]:
    """Mean and deviation of the outputs so far; 0 with less than two."""
    n = mask.sum()
    centre = jnp.where(mask, y, 0).sum() / n
    spread = jnp.sqrt(jnp.where(mask, jnp.square(y - centre), 0).sum() / jnp.maximum(n - 1, 1))
    return centre, spread


def _narrow(a: Array) -> Array:
    return a.astype(jnp.float32) if jnp.issubdtype(a.dtype, jnp.floating) else a


def loss(
    params: Params, config: GeneralConfig, scene: Scene, mean: Array, square: Array, truth: Array
) -> Array:
    """Minus the mean log density of the truth, and of the log of the error."""

    def one(scene: Scene, mean: Array, square: Array, truth: Array) -> Array:
        found = deviation(params, config.judge, scene)
        scale, off = log_scale(square, found), truth - mean
        actual = 0.5 * jnp.log(jnp.square(off).mean() + TINY)
        wrong = actual - log_error(square, scene.allowed, found)
        whole = student.logpdf(wrong, FREEDOM, scale=jnp.exp(found.log_spread))
        return student.logpdf(off, found.freedom, scale=jnp.exp(scale)).mean() + whole

    return -jax.vmap(one)(scene, mean, square, truth).mean()
