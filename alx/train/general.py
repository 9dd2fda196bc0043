"""Training of the judge: simulated experiments of every kind, and what each of their queries did to the
error.

The judge plays whole experiments. The loss of one is the expected squared error of the belief's mean after
its last query, given the data and under the true kernel. Its gradient goes to each query and from there
through the score of that query's own step, never through time: where later queries are near their best, what
an earlier one changes in them does not matter to first order. So nothing explodes, and a step costs little
more than its rollout.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from alx.belief import MEAN, PRIOR_SQUARE, Bank, Belief, add, empty, evidence
from alx.gp import algebra
from alx.gp.kernels import correlation
from alx.network.judge import JudgeConfig
from alx.network.policy import Params, PolicyConfig, init
from alx.network.sight import Scene
from alx.propose import look, soften
from alx.train import rollout
from alx.train.posterior import posterior
from alx.train.prior import PRIORS, Prior
from alx.train.rollout import Batch, Experiment, Trajectory
from alx.train.step import AXIS, EPOCH, State, compiler_options
from alx.train.step import _share as share

__all__ = ["GeneralConfig", "Shape", "chunk_gradient", "losses"]

HELD_OUT = 48  # places at which the error is measured
FITTED = 12  # kernels of the belief in the loss
SHARPNESS = (
    1.5  # power of their evidence there: users fit by maximum likelihood, which is sharper than a mean
)
LARGEST = 1.0  # norm of the gradient to one query; no single one drowns the others


JUDGE = JudgeConfig()
PRIOR = dataclasses.replace(PRIORS["unit"], lengthscale=(0.08, 4.0))  # what the bank covers


class Shape(NamedTuple):
    """Experiments that are compiled together: number of inputs, and of points at the end."""

    dim: int
    capacity: int


@dataclasses.dataclass(frozen=True)
class GeneralConfig:
    """All that decides the result of training a judge.

    Attributes:
        judge: the network.
        prior: where kernels and noise come from.
        shapes: numbers of inputs and points; the steps take turns.
        n_init: least and greatest number of points given before the first query.
        batch: experiments in a step.
        chunk: experiments that are played together; all of them start with the same number of points.
        steps: how many steps.
        lr: initial learning rate.
        decay: what is left of the learning rate after every 50 steps.
        clip: largest global norm of a gradient.
        seed: seed of everything random.
    """

    judge: JudgeConfig = JUDGE
    prior: Prior = PRIOR
    shapes: tuple[Shape, ...] = (Shape(2, 21),)
    n_init: tuple[int, int] = (1, 1)
    batch: int = 128
    chunk: int = 32
    steps: int = 600
    lr: float = 2e-3
    decay: float = 0.8
    clip: float = 1.0
    seed: int = 0


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
    low, high = config.n_init
    high = max(min(high, 2 * shape.capacity // 3), low)
    keys = jax.random.split(key, 4)
    several = jax.random.randint(keys[0], (), low, high + 1)
    given = jnp.where(jax.random.uniform(keys[1]) < 0.35, jnp.clip(1, low, high), several)
    # Users do not know the mean and scale of their outputs, and learners estimate them from few.
    scale = jnp.exp(0.3 * jax.random.normal(keys[2], (batch,)))
    return Start(given, scale, 0.3 * scale * jax.random.normal(keys[3], (batch,)))


def simulate(key: Array, config: GeneralConfig, shape: Shape, batch: int) -> tuple[Experiment, Start]:
    """Experiments and how they start; the given points of some lie in a corner."""
    key_kernel, key_draw, key_start, key_corner, key_some = jax.random.split(key, 5)
    size = PolicyConfig(shape.dim, shape.capacity - 1, 1)
    experiment = rollout.simulate(key_kernel, key_draw, config.prior, size, Batch(batch))
    corner = 0.6 * jax.random.uniform(key_corner, (shape.dim, 1, batch)) + 0.4 * experiment.x
    some = jax.random.uniform(key_some, (batch,)) < 0.15
    experiment = experiment._replace(x=jnp.where(some, corner, experiment.x))
    return experiment, draw_start(key_start, config, shape, batch)


class Played(NamedTuple):
    """Experiments to their end: queries ``[N, B, D]``, what the judge saw before each, and the belief ``[B,
    ...]``.
    """

    x: Array
    scenes: Scene
    places: Array
    belief: Belief


def play(params: Params, config: GeneralConfig, shape: Shape, experiment: Experiment, start: Start) -> Played:
    """Let the judge make all queries after the given points."""
    dim, capacity = shape
    batch = experiment.x.shape[-1]

    def query(belief: Belief, count: Array):
        return jax.vmap(lambda one: look(params, config.judge, one, capacity - count))(belief)

    def step(belief: Belief, count: Array):
        blank = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(query, belief, count))
        scene, places = jax.lax.cond(count < start.given, lambda *_: blank, query, belief, count)
        x = jax.vmap(lambda s, p: soften(params, config.judge, s, p))(scene, places)
        x = jnp.where(count < start.given, experiment.x[:, count].T, x)
        y = rollout.observe(config.prior, experiment, x.T[:, None], experiment.noise[count][None])[0]
        return jax.vmap(add)(belief, x, start.scale * y + start.shift), (x, scene, places)

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


def losses(config: GeneralConfig, experiment: Experiment, start: Start, kernels: Bank, x: Array) -> Array:
    """log of the expected squared error ``[B]`` after the points ``x [N, B, D]``, theta unknown to the
    learner.
    """
    x = jnp.moveaxis(x, 2, 0)
    y = rollout.observe(config.prior, experiment, x, experiment.noise[: x.shape[1]])
    at = experiment.grid[:, :HELD_OUT]
    trajectory = Trajectory(x, y, jnp.ones((x.shape[1], 1), bool), x.shape[1])
    mean, variance, _ = posterior(config.prior, experiment.theta, trajectory, at)
    fitted = (fitted_mean(kernels, x, start.scale * y + start.shift, at) - start.shift) / start.scale
    return jnp.log((variance + jnp.square(mean - fitted)).mean(0))


def chunk_gradient(params: Params, config: GeneralConfig, shape: Shape, key: Array) -> tuple[Array, Params]:
    """The mean loss of a chunk of experiments, and its gradient."""
    experiment, start = simulate(key, config, shape, config.chunk)
    played = play(jax.lax.stop_gradient(params), config, shape, experiment, start)
    kernels = jax.tree.map(lambda a: jnp.moveaxis(a, 0, -1), jax.vmap(best_kernels)(played.belief))
    loss, pull = jax.vjp(lambda x: losses(config, experiment, start, kernels, x), played.x)
    (g,) = pull(jnp.ones_like(loss))
    g = g / jnp.maximum(1, jnp.sqrt(jnp.square(g).sum(-1, keepdims=True)) / LARGEST)
    g = jnp.where((jnp.arange(shape.capacity) < start.given)[:, None, None], 0, g) / config.chunk

    def queries(params):
        one = jax.vmap(jax.vmap(lambda s, p: soften(params, config.judge, s, p)))
        return one(played.scenes, played.places)

    return loss.mean(), jax.vjp(queries, params)[1](g)[0]


def optimizer(config: GeneralConfig) -> optax.GradientTransformation:
    """RAdam with clipped gradients and staircase decay."""
    schedule = optax.exponential_decay(config.lr, EPOCH, config.decay, staircase=True)
    return optax.chain(optax.clip_by_global_norm(config.clip), optax.radam(schedule))


def initial_params(config: GeneralConfig) -> Params:
    """Fresh weights, with the place and spread of the features measured on untrained experiments."""
    key = jax.random.fold_in(jax.random.key(config.seed), 0)
    params = init(key, config.judge)
    seen = [_features(params, config, shape) for shape in config.shapes[:: -(-len(config.shapes) // 3)]]
    features = np.concatenate(seen)
    for sight in (params["sight"], params["deviation"]["sight"]):
        sight["shift"] = jnp.asarray(features.mean(0))
        sight["scale"] = jnp.asarray(1 / (features.std(0) + 0.05))
    return params


def _features(params: Params, config: GeneralConfig, shape: Shape) -> np.ndarray:
    experiment, start = simulate(jax.random.key(config.seed + 1), config, shape, config.chunk)
    start = start._replace(given=jnp.minimum(start.given, shape.capacity // 2))
    played = jax.jit(lambda e, s: play(params, config, shape, e, s).scenes.features)(experiment, start)
    return np.asarray(played[shape.capacity // 2 :]).reshape(-1, played.shape[-1])


def make_step(config: GeneralConfig, mesh: Mesh, shape: Shape):
    """A step on experiments of one shape: the devices share its chunks, and their number changes nothing."""
    transform, number = optimizer(config), -(-config.batch // config.chunk)
    key = jax.random.fold_in(jax.random.key(config.seed), 1)

    def mean_gradient(params: Params, step: Array):
        first, end = share(number, mesh)

        def add_chunk(index: Array, total):
            own = jax.random.fold_in(jax.random.fold_in(key, step), index)
            return jax.tree.map(
                lambda t, v: t + v / number, total, chunk_gradient(params, config, shape, own)
            )

        zero = jax.tree.map(jnp.zeros_like, (jnp.zeros(()), params))
        return jax.lax.psum(jax.lax.fori_loop(first, end, add_chunk, zero), AXIS)

    def step(state: State):
        loss, gradient = jax.shard_map(
            mean_gradient,
            mesh=mesh,
            in_specs=(PartitionSpec(), PartitionSpec()),
            out_specs=PartitionSpec(),
            check_vma=False,  # no derivative goes through this
        )(state.params, state.step)
        updates, inner = transform.update(gradient, state.optimizer, state.params)
        params = optax.apply_updates(state.params, updates)
        return State(params, inner, state.step + 1), {"loss": loss, "norm": optax.tree.norm(gradient)}

    return jax.jit(step, donate_argnums=0, compiler_options=compiler_options())
