"""Rollouts: let a policy query simulated experiments.

A trajectory is one experiment from the given points to the last query; experiments are the trailing axis.
"""

import itertools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from alx.network import policy
from alx.network.policy import Params, PolicyConfig
from alx.train.prior import Prior
from alx.train.simulate import Simulation, observe

__all__ = ["Trajectory", "myopic", "nonmyopic", "segments"]

# Queries that share one capacity: a scan of few steps over just enough tokens, then a larger one. Shorter
# segments waste less work on padding, but each is compiled.
SHORTEST, SEGMENTS = 3, 5


class Trajectory(NamedTuple):
    """What happened: points ``x [D, n, ...]``, ``y [n, ...]`` where ``mask [n, ...]`` is True.

    The last T points are the policy's queries; those before were given.
    """

    x: Array
    y: Array
    mask: Array
    T: int


def nonmyopic(
    params: Params, config: PolicyConfig, prior: Prior, simulation: Simulation, bound: float = math.inf
) -> Trajectory:
    """Let the policy make all its T queries, one after the other; for `bound` see `_bounded`."""
    setting = Setting(config, prior, bound)
    trailing = simulation.x.ndim - 2
    capacity = max(config.n_init - 1, 0)
    x = simulation.x[:, : capacity + 1]
    y = observe(prior, simulation, x, simulation.noise[: capacity + 1])
    xs, ys = [x[:, : config.n_init]], [y[: config.n_init]]
    points = policy.encode(params, config, x[:, :capacity], y[:capacity])
    newest = x[:, capacity:], y[capacity:]
    for counts in segments(config):
        more = max(counts[-1], 1) - capacity
        capacity += more
        room = ((0, 0), (0, more), *((0, 0),) * trailing)
        points = jax.tree.map(lambda a, room=room: jnp.pad(a, room), points)
        points, newest, (x, y) = _queries(setting, counts, params, simulation, points, newest)
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
    setting: Setting, counts: range, params: Params, simulation: Simulation, points, newest
) -> tuple[Any, tuple[Array, Array], tuple[Array, Array]]:
    """Queries after `counts` points each: encoded points and the newest one -> the same afterwards, and all.

    A point is encoded when the query after it needs it: nobody looks at the last one. The backward rule
    stores no more than the encoded points. They are only ever added to, so the last ones serve every query,
    the later ones masked; the rest is computed again, which is cheaper than writing it to memory.
    """

    def step(carry, count):
        points, newest = carry
        points = _put(points, policy.encode(params, setting.config, *newest), count)
        newest = _query(setting, params, simulation, points, count)
        return (points, newest), newest

    (points, newest), queries = jax.lax.scan(step, (points, newest), jnp.asarray(counts))
    return points, newest, queries


_queries = jax.custom_vjp(_make_queries, nondiff_argnums=(0, 1))


def _query(setting: Setting, params: Params, simulation: Simulation, points, count: Array):
    """The next point ``x [D, 1, ...]``, ``y [1, ...]`` after the first `count` points."""
    capacity = jax.tree.leaves(points)[0].shape[1]
    mask = (jnp.arange(capacity) < count).reshape(capacity, *(1,) * (simulation.x.ndim - 2))
    x = _bounded(policy.decide(params, setting.config, points, mask)[:, None], setting.bound)
    return x, observe(setting.prior, simulation, x, jax.lax.dynamic_slice_in_dim(simulation.noise, count, 1))


def _slot(count: Array) -> Array:
    """Where the newest of `count` points is kept. Before the first there is none; what is there is masked."""
    return jnp.maximum(count - 1, 0)


def _put(points, new, count: Array):
    update = jax.lax.dynamic_update_slice_in_dim
    return jax.tree.map(lambda a, b: update(a, b, _slot(count), axis=1), points, new)


def _queries_forward(setting, counts, params, simulation, points, newest):
    points, last, queries = _queries(setting, counts, params, simulation, points, newest)
    before = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b[:-1]]), newest, queries)
    return (points, last, queries), (params, simulation, points, before)


def _queries_backward(setting, counts, residuals, gradients):
    params, simulation, points, before = residuals
    g_points, g_newest, g_queries = gradients

    def step(carry, item):
        g_params, g_points, g_newest = carry
        count, newest, g_query = item
        _, pull = jax.vjp(lambda p, q: _query(setting, p, simulation, q, count), params, points)
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
    key: Array, params: Params, config: PolicyConfig, prior: Prior, simulation: Simulation
) -> Trajectory:
    """One query after a random history of n_init to n_init + T - 1 points at random inputs."""
    room = max(config.capacity - 1, 1)  # networks need room for a point, be it masked
    size = jax.random.randint(key, (), config.n_init, config.capacity)
    mask = (jnp.arange(room) < size).reshape(room, *(1,) * (simulation.x.ndim - 2))
    x_given = simulation.x[:, :room]
    y_given = observe(prior, simulation, x_given, simulation.noise[:room])
    x = policy.apply(params, config, x_given, y_given, mask)[:, None]
    y = observe(prior, simulation, x, simulation.noise[-1:])
    return Trajectory(
        jnp.concatenate([x_given, x], axis=1),
        jnp.concatenate([y_given, y]),
        jnp.concatenate([mask, jnp.ones_like(mask[:1])]),
        T=1,
    )
