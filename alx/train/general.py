"""Training of the judge: simulated experiments of every kind, and what each of their queries did to the
error.

The judge plays whole experiments. The loss of one is the expected squared error of the belief's mean after
its last query, given the data and under the true kernel. Its gradient goes to each query and from there
through the score of that query's own step, never through time: where later queries are near their best, what
an earlier one changes in them does not matter to first order. So nothing explodes, and a step costs little
more than its rollout.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from alx.belief import MEAN, PRIOR_SQUARE, Bank, Belief, add, empty, evidence
from alx.gp import algebra
from alx.gp.kernels import correlation
from alx.network.policy import Params, PolicyConfig
from alx.network.sight import Scene
from alx.propose import look, soften
from alx.train.closed_forms import Form, draw_form, evaluate, standardise
from alx.train.general_config import GeneralConfig, Shape
from alx.train.posterior import posterior
from alx.train.rollout import Trajectory
from alx.train.simulate import Batch, Simulation, observe
from alx.train.simulate import simulate as simulate_functions

__all__ = [
    "Case",
    "chunk_gradient",
    "losses",
    "measure",
    "play",
    "simulate",
    "truth",
]

HELD_OUT = 64  # places at which the error is measured
FITTED = 12  # kernels of the belief in the loss
SHARPNESS = 1.5  # power of their evidence there: a fit by maximum likelihood is sharper than a mean
FEWEST = 3.0  # degrees of freedom of heavy-tailed noise
LARGEST = 1.0  # norm of the gradient to one query; no single one drowns the others


class Start(NamedTuple):
    """What the learner of an experiment starts with: points, and outputs on a scale that is not quite
    standard.
    """

    given: Array  # how many points, [] for all experiments of a chunk
    scale: Array  # [B]
    shift: Array  # [B]


def draw_start(key: Array, config: GeneralConfig, shape: Shape, batch: int) -> Start:
    """A third start with a single point, or as few as there may be; the others with up to two thirds of
    all.
    """
    low, high = config.n_init[0], config.n_init[-1]
    high = max(min(high, 2 * shape.capacity // 3, shape.capacity - config.T[0]), low)
    keys = jax.random.split(key, 4)
    several = jax.random.randint(keys[0], (), low, high + 1)
    given = jnp.where(jax.random.uniform(keys[1]) < 0.35, jnp.clip(1, low, high), several)
    # Users do not know the mean and scale of their outputs, and learners estimate them from few.
    scale = jnp.exp(0.3 * jax.random.normal(keys[2], (batch,)))
    return Start(given, scale, 0.3 * scale * jax.random.normal(keys[3], (batch,)))


class Case(NamedTuple):
    """Experiments to be played, on the trailing axis.

    Attributes:
        simulation: functions of the prior, points, noise and held-out places.
        form: functions that no kernel drew.
        formed: which experiments have the latter ``[B]``.
        exact: for which the kernel and Gaussian noise are the whole truth ``[B]``.
        start: what their learners start with.
    """

    simulation: Simulation
    form: Form
    formed: Array
    exact: Array
    start: Start


def simulate(key: Array, config: GeneralConfig, shape: Shape, batch: int) -> Case:
    """Experiments of every kind; the given points of some lie in a corner."""
    keys = iter(jax.random.split(key, 9))
    size = PolicyConfig(shape.dim, shape.capacity - 1, 1)
    simulation = simulate_functions(next(keys), next(keys), config.prior, size, Batch(batch))
    start = draw_start(next(keys), config, shape, batch)
    corner = 0.6 * jax.random.uniform(next(keys), (shape.dim, 1, batch)) + 0.4 * simulation.x
    some = jax.random.uniform(next(keys), (batch,)) < 0.15
    formed = jax.random.uniform(next(keys), (batch,)) < config.forms
    wild = jax.random.uniform(next(keys), (batch,)) < config.outliers
    # Normal noise over the root of a chi-square is Student t.
    tails = jnp.sqrt(FEWEST / (2 * jax.random.gamma(next(keys), FEWEST / 2, simulation.noise.shape)))
    form = standardise(draw_form(next(keys), shape.dim, batch), simulation.grid)
    simulation = simulation._replace(
        x=jnp.where(some, corner, simulation.x),
        noise=simulation.noise * jnp.where(wild, tails, 1.0),
        f_grid=jnp.where(formed, evaluate(form, simulation.grid), simulation.f_grid),
    )
    return Case(simulation, form, formed, ~(formed | wild), start)


def measure(config: GeneralConfig, case: Case, x: Array, noise: Array) -> Array:
    """What learners are told of points ``x [D, n, B]`` with noise ``[n, B]``, on their own scales."""
    y = observe(config.prior, case.simulation, x, noise)
    y = jnp.where(case.formed, evaluate(case.form, x) + noise, y)
    return case.start.scale * y + case.start.shift


def truth(case: Case) -> Array:
    """The function at the held-out places ``[HELD_OUT, B]``, on the learners' scales."""
    return case.start.scale * case.simulation.f_grid[:HELD_OUT] + case.start.shift


class Played(NamedTuple):
    """Simulations to their end: queries ``[N, B, D]``, what the judge saw before each, and the belief ``[B,
    ...]``.
    """

    x: Array
    scenes: Scene
    places: Array
    belief: Belief


def play(params: Params, config: GeneralConfig, shape: Shape, case: Case) -> Played:
    """Let the judge make all queries after the given points."""
    dim, capacity = shape
    simulation, given = case.simulation, case.start.given
    batch = simulation.x.shape[-1]

    def query(belief: Belief, count: Array):
        return jax.vmap(lambda one: look(params, config.judge, one, capacity - count))(belief)

    def step(belief: Belief, count: Array):
        blank = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(query, belief, count))
        scene, places = jax.lax.cond(count < given, lambda *_: blank, query, belief, count)
        x = jax.vmap(lambda s, p: soften(params, config.judge, s, p))(scene, places)
        x = jnp.where(count < given, simulation.x[:, count].T, x)
        y = measure(config, case, x.T[:, None], simulation.noise[count][None])[0]
        return jax.vmap(add)(belief, x, y), (x, scene, places)

    first = jax.vmap(lambda _: empty(capacity, dim))(jnp.arange(batch))
    belief, (x, scenes, places) = jax.lax.scan(step, first, jnp.arange(capacity))
    return Played(x, scenes, places, belief)


def best_kernels(belief: Belief) -> Bank:
    """The kernels of the bank that the loss mixes, with fields ``[FITTED, ...]``."""
    log_evidence, _ = evidence(belief)
    best = jax.lax.top_k(log_evidence, FITTED)[1]
    return Bank(*(field[best] for field in belief.kernels))


def fitted_mean(kernels: Bank, x: Array, y: Array, at: Array) -> Array:
    """The mean of a mixture of kernels ``[F, ..., B]`` at ``at [D, m, B]`` given ``x [D, n, B]``, ``y [n,
    B]``.
    """

    def covariance(a: Array, b: Array) -> Array:
        pairs = zip(a, b, jnp.moveaxis(kernels.lengthscale, 1, 0), strict=True)
        square = sum(jnp.square((p[:, None] - q[None])[:, :, None] / scale) for p, q, scale in pairs)
        return correlation(jnp.asarray(square), kernels.rough) + MEAN

    n = len(y)
    eye = jnp.eye(n)[..., None, None]
    outputs = jnp.broadcast_to(y[:, None], (n, *kernels.noise.shape))
    weights, log_det = algebra.solve(covariance(x, x) + kernels.noise * eye, outputs)
    square = (outputs * weights).sum(0) + PRIOR_SQUARE
    share = jax.nn.softmax(-0.5 * SHARPNESS * ((n + 1) * jnp.log(square) + log_det), axis=0)
    return ((covariance(x, at) * weights[:, None]).sum(0) * share).sum(1)


def losses(config: GeneralConfig, case: Case, kernels: Bank, x: Array) -> Array:
    """log of the squared error ``[B]`` after the points ``x [N, B, D]``, theta unknown to the learner.

    It is the expected one given the data where the true kernel says that, else that of the function itself.
    """
    x = jnp.moveaxis(x, 2, 0)
    simulation, (_, scale, shift) = case.simulation, case.start
    y = measure(config, case, x, simulation.noise[: x.shape[1]])
    at = simulation.grid[:, :HELD_OUT]
    trajectory = Trajectory(x, (y - shift) / scale, jnp.ones((x.shape[1], 1), bool), x.shape[1])
    mean, variance, _ = posterior(config.prior, simulation.theta, trajectory, at)
    fitted = (fitted_mean(kernels, x, y, at) - shift) / scale
    expected = variance + jnp.square(mean - fitted)
    return jnp.log(jnp.where(case.exact, expected, jnp.square(simulation.f_grid[:HELD_OUT] - fitted)).mean(0))


def chunk_gradient(params: Params, config: GeneralConfig, shape: Shape, key: Array) -> tuple[Array, Params]:
    """The mean loss of a chunk of experiments, and its gradient."""
    case = simulate(key, config, shape, config.chunk)
    played = play(jax.lax.stop_gradient(params), config, shape, case)
    kernels = jax.tree.map(lambda a: jnp.moveaxis(a, 0, -1), jax.vmap(best_kernels)(played.belief))
    loss, pull = jax.vjp(lambda x: losses(config, case, kernels, x), played.x)
    (g,) = pull(jnp.ones_like(loss))
    g = g / jnp.maximum(1, jnp.sqrt(jnp.square(g).sum(-1, keepdims=True)) / LARGEST)
    g = jnp.where((jnp.arange(shape.capacity) < case.start.given)[:, None, None], 0, g) / config.chunk

    def queries(params):
        one = jax.vmap(jax.vmap(lambda s, p: soften(params, config.judge, s, p)))
        return one(played.scenes, played.places)

    return loss.mean(), jax.vjp(queries, params)[1](g)[0]
