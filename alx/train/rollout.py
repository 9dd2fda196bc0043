"""Simulated active learning: draw experiments from the prior, let the policy query them.

Experiments are the trailing axis of every array. A batch has the paper's three levels, kernels x functions
per kernel x noise draws per function; experiments of one kernel are neighbours on the axis.
"""

import itertools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from alx.network import policy
from alx.network.policy import Params, PolicyConfig
from alx.train import functions, prior
from alx.train.functions import Function
from alx.train.prior import Prior, Theta

__all__ = ["N_GRID", "Batch", "Experiment", "Trajectory", "myopic", "nonmyopic", "simulate"]

N_GRID = 100
# Queries that share one capacity: a scan of few steps over just enough tokens, then a larger one. Shorter
# segments waste less work on padding, but each is compiled.
SHORTEST, SEGMENTS = 3, 5
SMALLEST_SPREAD = 0.15  # of a function beside its kernel's, for float32 to invert its covariance


class Batch(NamedTuple):
    """How many kernels, functions per kernel and noise draws per function are simulated together."""

    kernels: int
    functions: int = 1
    noises: int = 1

    @property
    def experiments(self) -> int:
        return self.kernels * self.functions * self.noises


class Experiment(NamedTuple):
    """All that is random in an experiment but the policy's choices.

    Attributes:
        theta: kernel and noise variance.
        function: the unknown f.
        x: inputs for given points, ``[D, capacity, ...]``.
        noise: e of each observation, ``[capacity, ...]``.
        grid: resampled grid inputs, shared by the experiments of a kernel, ``[D, N_grid, kernels]``.
        f_grid: f at the grid, ``[N_grid, ...]``.
        noise_grid: e of each grid observation, ``[N_grid, ...]``.
    """

    theta: Theta
    function: Function
    x: Array
    noise: Array
    grid: Array
    f_grid: Array
    noise_grid: Array


class Trajectory(NamedTuple):
    """What happened: points ``x [D, n, ...]``, ``y [n, ...]`` where ``mask [n, ...]`` is True.

    The last T points are the policy's queries; those before were given.
    """

    x: Array
    y: Array
    mask: Array
    T: int


def simulate(
    key_kernel: Array, key: Array, prior_: Prior, config: PolicyConfig, batch: Batch, n_grid: int = N_GRID
) -> Experiment:
    """Draw a batch of experiments; the kernels and their grids depend on `key_kernel` alone."""
    return spread(draw(key_kernel, key, prior_, config, batch, n_grid))


def draw(
    key_kernel: Array, key: Array, prior_: Prior, config: PolicyConfig, batch: Batch, n_grid: int = N_GRID
) -> Experiment:
    """As `simulate`, but what experiments share is there once: the trailing axis of theta are kernels, of
    `function` and `f_grid` functions, of the rest experiments."""
    key_theta, key_grid = jax.random.split(key_kernel)
    key_function, key_x, key_noise, key_noise_grid = jax.random.split(key, 4)
    theta = prior.sample(key_theta, prior_, config.dim, (batch.kernels,))
    grid = jax.random.uniform(key_grid, (config.dim, n_grid, batch.kernels))
    theta_f, grid_f = _repeat((theta, grid), batch.functions)
    function = functions.draw(key_function, prior_, theta_f)
    # With the points of the grid last, for there are more of them than functions.
    theta_g, function_g = jax.tree.map(lambda a: a[..., None], (theta_f, function))
    f_grid = functions.evaluate(prior_, theta_g, function_g, grid_f.swapaxes(1, 2)[:, None])[0].T
    if prior_.standardised:
        theta, function, f_grid = _standardise(theta, function, f_grid)
    n = batch.experiments
    sd = _repeat(jnp.sqrt(theta.noise), batch.functions * batch.noises)
    return Experiment(
        theta=theta,
        function=function,
        x=jax.random.uniform(key_x, (config.dim, config.capacity, n)),
        noise=sd * jax.random.normal(key_noise, (config.capacity, n)),
        grid=grid,
        f_grid=f_grid,
        noise_grid=sd * jax.random.normal(key_noise_grid, (n_grid, n)),
    )


def spread(drawn: Experiment) -> Experiment:
    """Give each experiment what it shares with others; only the grid stays that of the kernel."""
    n = drawn.noise.shape[-1]
    each = jax.tree.map(lambda a: _repeat(a, n // a.shape[-1]), drawn._replace(grid=None))
    return each._replace(grid=drawn.grid)


def _standardise(theta: Theta, function: Function, f_grid: Array) -> tuple[Theta, Function, Array]:
    """Scale the functions of each kernel together, and its signal variance with them, to variance one."""
    by_kernel = f_grid.reshape(f_grid.shape[0], theta.variance.shape[-1], -1)
    scale = jnp.sqrt(jnp.square(by_kernel).mean((0, 2)))
    scale = jnp.maximum(scale, SMALLEST_SPREAD * jnp.sqrt(theta.variance))
    each = jnp.repeat(scale, by_kernel.shape[2])
    function = function._replace(weights=function.weights / each, mean=function.mean / each)
    return theta._replace(variance=theta.variance / scale**2), function, f_grid / each


def part(drawn: Experiment, start: Array, size: int) -> Experiment:
    """Some of the experiments, which must share one kernel unless they are all."""
    taken = jax.tree.map(
        lambda a: jax.lax.dynamic_slice_in_dim(a, start, size, axis=-1), spread(drawn)._replace(grid=None)
    )
    return taken._replace(grid=drawn.grid)


def _repeat(tree, times: int):
    return jax.tree.map(lambda a: jnp.repeat(a, times, axis=-1), tree) if times > 1 else tree


def observe(prior_: Prior, experiment: Experiment, x: Array, noise: Array) -> Array:
    """y = f(x) + e of ``x [D, n, ...]``."""
    return functions.evaluate(prior_, experiment.theta, experiment.function, x) + noise


def nonmyopic(
    params: Params, config: PolicyConfig, prior_: Prior, experiment: Experiment, bound: float = math.inf
) -> Trajectory:
    """Let the policy make all its T queries, one after the other; for `bound` see `_bounded`."""
    setting = Setting(config, prior_, bound)
    trailing = experiment.x.ndim - 2
    capacity = max(config.n_init - 1, 0)
    x = experiment.x[:, : capacity + 1]
    y = observe(prior_, experiment, x, experiment.noise[: capacity + 1])
    xs, ys = [x[:, : config.n_init]], [y[: config.n_init]]
    points = policy.encode(params, config, x[:, :capacity], y[:capacity])
    newest = x[:, capacity:], y[capacity:]
    for counts in segments(config):
        more = max(counts[-1], 1) - capacity
        capacity += more
        room = ((0, 0), (0, more), *((0, 0),) * trailing)
        points = jax.tree.map(lambda a, room=room: jnp.pad(a, room), points)
        points, newest, (x, y) = _queries(setting, counts, params, experiment, points, newest)
        xs.append(jnp.moveaxis(x[:, :, 0], 0, 1))
        ys.append(y[:, 0])
    x, y = jnp.concatenate(xs, axis=1), jnp.concatenate(ys)
    return Trajectory(x, y, jnp.ones((x.shape[1],) + (1,) * (y.ndim - 1), bool), config.T)


class Setting(NamedTuple):
    """What all queries share and no gradient flows to, as none does to experiments."""

    config: PolicyConfig
    prior: Prior
    bound: float


def _make_queries(
    setting: Setting, counts: range, params: Params, experiment: Experiment, points, newest
) -> tuple[Any, tuple[Array, Array], tuple[Array, Array]]:
    """Queries after `counts` points each: encoded points and the newest one -> the same afterwards, and all.

    A point is encoded when the query after it needs it: nobody looks at the last one. The backward rule
    stores no more than the encoded points. They are only ever added to, so the last ones serve every query,
    the later ones masked; the rest is computed again, which is cheaper than writing it to memory.
    """

    def step(carry, count):
        points, newest = carry
        points = _put(points, policy.encode(params, setting.config, *newest), count)
        newest = _query(setting, params, experiment, points, count)
        return (points, newest), newest

    (points, newest), queries = jax.lax.scan(step, (points, newest), jnp.asarray(counts))
    return points, newest, queries


_queries = jax.custom_vjp(_make_queries, nondiff_argnums=(0, 1))


def _query(setting: Setting, params: Params, experiment: Experiment, points, count: Array):
    """The next point ``x [D, 1, ...]``, ``y [1, ...]`` after the first `count` points."""
    capacity = jax.tree.leaves(points)[0].shape[1]
    mask = (jnp.arange(capacity) < count).reshape(capacity, *(1,) * (experiment.x.ndim - 2))
    x = _bounded(policy.decide(params, setting.config, points, mask)[:, None], setting.bound)
    return x, observe(setting.prior, experiment, x, jax.lax.dynamic_slice_in_dim(experiment.noise, count, 1))


def _slot(count: Array) -> Array:
    """Where the newest of `count` points is kept. Before the first there is none; what is there is masked."""
    return jnp.maximum(count - 1, 0)


def _put(points, new, count: Array):
    update = jax.lax.dynamic_update_slice_in_dim
    return jax.tree.map(lambda a, b: update(a, b, _slot(count), axis=1), points, new)


def _queries_forward(setting, counts, params, experiment, points, newest):
    points, last, queries = _queries(setting, counts, params, experiment, points, newest)
    before = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b[:-1]]), newest, queries)
    return (points, last, queries), (params, experiment, points, before)


def _queries_backward(setting, counts, residuals, gradients):
    params, experiment, points, before = residuals
    g_points, g_newest, g_queries = gradients

    def step(carry, item):
        g_params, g_points, g_newest = carry
        count, newest, g_query = item
        _, pull = jax.vjp(lambda p, q: _query(setting, p, experiment, q, count), params, points)
        g_decide, g_seen = pull(jax.tree.map(jnp.add, g_newest, g_query))
        g_points = jax.tree.map(jnp.add, g_points, g_seen)
        take = jax.lax.dynamic_slice_in_dim
        g_encoded = jax.tree.map(lambda a: take(a, _slot(count), 1, axis=1), g_points)
        g_points = _put(g_points, jax.tree.map(jnp.zeros_like, g_encoded), count)
        _, pull = jax.vjp(lambda p, x, y: policy.encode(p, setting.config, x, y), params, *newest)
        g_encode, *g_newest = pull(g_encoded)
        g_params = jax.tree.map(lambda a, b, c: a + b + c, g_params, g_decide, g_encode)
        return (g_params, g_points, tuple(g_newest)), None

    zero = jax.tree.map(jnp.zeros_like, params)
    items = (jnp.asarray(counts), before, g_queries)
    (g_params, g_points, g_newest), _ = jax.lax.scan(step, (zero, g_points, g_newest), items, reverse=True)
    return g_params, None, g_points, g_newest


_queries.defvjp(_queries_forward, _queries_backward)


def segments(config: PolicyConfig) -> list[range]:
    """The numbers of points before each query, cut into segments; the last of one is its capacity.

    Capacities are odd: with multiples of four, which put the rows of an array a power of two apart, a step
    took 7 % longer on a CPU.
    """
    length, end = max(SHORTEST, -(-config.T // SEGMENTS)), config.capacity
    cuts = [config.n_init]
    while cuts[-1] < end:
        cuts.append(min((cuts[-1] + length - 2 | 1) + 1, end))
    return [range(*pair) for pair in itertools.pairwise(cuts)]


@jax.custom_vjp
def _bounded(x: Array, bound: float) -> Array:
    """x ``[D, 1, ...]``, with a bound on the gradient of each experiment's loss that flows back through it.

    A query depends on the outputs before it, and an output on its query by the slope of f: where both are
    steep, gradients grow without limit, and a few experiments drown all others. They are scaled down.
    """
    return x


def _bounded_backward(bound, g):
    limit = bound / math.prod(g.shape[2:])  # the loss is a mean over experiments
    norm = jnp.sqrt(jnp.square(g).sum((0, 1)))
    # A division, which XLA does not compute again for every weight that is multiplied with it.
    return g / jnp.maximum(1, norm / limit), None


_bounded.defvjp(lambda x, bound: (x, bound), _bounded_backward)


def myopic(
    key: Array, params: Params, config: PolicyConfig, prior_: Prior, experiment: Experiment
) -> Trajectory:
    """One query after a random history of n_init to n_init + T - 1 points at random inputs."""
    room = max(config.capacity - 1, 1)  # networks need room for a point, be it masked
    size = jax.random.randint(key, (), config.n_init, config.capacity)
    mask = (jnp.arange(room) < size).reshape(room, *(1,) * (experiment.x.ndim - 2))
    x_given = experiment.x[:, :room]
    y_given = observe(prior_, experiment, x_given, experiment.noise[:room])
    x = policy.apply(params, config, x_given, y_given, mask)[:, None]
    y = observe(prior_, experiment, x, experiment.noise[-1:])
    return Trajectory(
        jnp.concatenate([x_given, x], axis=1),
        jnp.concatenate([y_given, y]),
        jnp.concatenate([mask, jnp.ones_like(mask[:1])]),
        T=1,
    )
