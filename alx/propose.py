"""The next query from a policy and a history: one point, a point of a pool, or several points at once.

The general policy looks at places all over the domain, then at places around the best of them, and takes the
best of those (`look`, `soften`). Whatever the domain, there is this one way to decide: a pool is its own
places, a constraint leaves some out, and points asked for and not measured yet are pending rows of the
belief. The network of the paper maps the history to a point by itself; of a pool it takes the nearest.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.core import Tracer
from jax.typing import ArrayLike

from alx.belief import Belief, Mixture, believe, imputed, likely, with_pending
from alx.belief.places import FIRST, describe, first_places, grid_places, places_around
from alx.history import History
from alx.network.batched import apply_one
from alx.network.chunks import in_chunks
from alx.network.policy import Params, Policy, PolicyConfig, score
from alx.network.score_network import JudgeConfig
from alx.network.sight import Scene

__all__ = [
    "decide",
    "exportable",
    "look",
    "nearest",
    "propose",
    "propose_batch",
    "propose_from_pool",
    "score_places",
    "soften",
]

CHUNK = 32  # experiments at once under `vmap` on a CPU
LARGEST_POOL, POOL_GRID = 1024, 256  # places scored at once, and those the variance is averaged over


def propose(policy: Policy, history: History, remaining: ArrayLike | None = None) -> Array:
    """The next input ``[D]`` in the unit cube.

    Pure, for one experiment: use it inside ``jit``, ``lax.scan``, ``shard_map`` and ``grad``, and ``vmap`` it
    over experiments. The order of the points does not matter, and an empty history has an answer, too.
    Outputs beyond ten standard deviations count as ten. Nothing can be raised under ``jit``: inputs outside
    the unit cube and outputs that are not numbers give an answer that means nothing.

    Args:
        policy: the policy.
        history: points measured so far, x in the unit cube and y standardised.
        remaining: queries to go, this one among them; the history's free capacity by default, at least one.
    """
    _check(policy.config, history)
    return _propose(policy, history, remaining)


def _check(config: PolicyConfig | JudgeConfig, history: History) -> None:
    if history.x.ndim != 2:
        raise ValueError(
            f"propose takes one history with x [capacity, D], got x {history.x.shape}: use jax.vmap"
        )
    if isinstance(config, PolicyConfig) and history.x.shape[1] != config.dim:
        raise ValueError(f"the policy is for {config.dim} inputs, got a history with {history.x.shape[1]}")


def _remaining(history: History, remaining: ArrayLike | None) -> Array:
    """A full history still has one query to make."""
    # The same type either way, so that both are one compilation.
    free = history.capacity - history.count if remaining is None else jnp.asarray(remaining, int)
    return jnp.maximum(free, 1)


@jax.jit
def _propose(policy: Policy, history: History, remaining: ArrayLike | None) -> Array:
    if isinstance(policy.config, JudgeConfig):
        return _query(policy, history, _remaining(history, remaining))
    history = history.cleaned()
    if history.pending is not None:
        history = history._replace(y=imputed(history))
    return apply_one(policy.config, policy.params, history.x.T, history.y, history.mask)


def _from_nothing(policy: Policy, history: History, remaining: Array) -> Array:
    return decide(policy, _mixture(history.cleaned()), remaining)


_query = in_chunks(_from_nothing, CHUNK)


def _mixture(history: History) -> Mixture:
    mixture = likely(believe(history))
    return mixture if history.pending is None else with_pending(mixture, history.x, history.pending)


def decide(policy: Policy, mixture: Mixture, remaining: ArrayLike) -> Array:
    """The next input ``[D]`` anywhere in the unit cube, from what is believed and the queries to go."""
    scene, places = look(policy.params, _judge(policy), mixture, remaining)
    return soften(policy.params, _judge(policy), scene, places)


def look(
    params: Params, config: JudgeConfig, belief: Belief | Mixture, remaining: ArrayLike
) -> tuple[Scene, Array]:
    """The last places ``[SECOND, D]`` that are compared, around the best of the first ones, as the judge
    sees them.
    """
    mixture = likely(belief) if isinstance(belief, Belief) else belief
    dim, count = mixture.x.shape[1], mixture.mask.sum()
    grid = grid_places(dim, count)
    covered = jnp.ones(len(grid), bool)

    def seen(places: Array) -> Scene:
        return describe(mixture, jnp.asarray(remaining), places, jnp.ones(len(places), bool), grid, covered)

    first = first_places(dim, count)
    best = jnp.arange(len(first)) == jnp.argmax(score(params, config, seen(first)))
    # As a sum, for where a row is looked up the loops over pairs of places and points do not vectorise.
    second = places_around(jnp.where(best[:, None], first, 0).sum(0))
    return seen(second), second


def soften(params: Params, config: JudgeConfig, scene: Scene, places: Array) -> Array:
    """The best place, softened over its neighbours, so that it is any point and has a gradient ``[D]``."""
    dim = places.shape[1]
    scores = score(params, config, scene)
    best = places[jnp.argmax(jax.lax.stop_gradient(scores))]
    window = 0.27 * FIRST ** (-1 / dim) * (dim / 2) ** 0.5
    return jax.nn.softmax(scores - jnp.square(places - best).sum(1) / (2 * window**2)) @ places


def score_places(
    policy: Policy,
    mixture: Mixture,
    remaining: ArrayLike,
    places: Array,
    allowed: Array,
    grid: Array,
    covered: Array,
) -> Array:
    """The scores of places ``[C]``, minus infinity where they are not allowed; the best one is to be taken.

    Args:
        policy: the general policy.
        mixture: what is believed, pending points included.
        remaining: queries to go, this one among them.
        places: places ``[C, D]``.
        allowed: which of them may be taken ``[C]``.
        grid: where the variance is to be low ``[G, D]``.
        covered: which of these belong to the domain ``[G]``.
    """
    scene = describe(mixture, jnp.asarray(remaining), places, allowed, grid, covered)
    return score(policy.params, _judge(policy), scene)


def _judge(policy: Policy) -> JudgeConfig:
    if not isinstance(policy.config, JudgeConfig):
        raise ValueError(f"this needs the general policy, got one with the network {policy.config.network!r}")
    return policy.config


def propose_from_pool(
    policy: Policy,
    history: History,
    pool: ArrayLike,
    available: ArrayLike,
    remaining: ArrayLike | None = None,
) -> Array:
    """The index of the pool point to measure next: the one with the best score.

    Clear ``available`` at the index before the next call and no point is taken twice. A policy with the
    network of the paper takes the point nearest to its proposal.

    Args:
        policy: the policy.
        history: points measured so far.
        pool: the candidates ``[N, D]`` in the unit cube.
        available: which of them may be taken, ``[N]``.
        remaining: queries to go, as in `propose`.

    Returns:
        The index. When nothing is available that is a ValueError, and under ``jit``, where nothing can be
        raised, -1.
    """
    pool, available = jnp.asarray(pool, float), jnp.asarray(available, bool)
    _check(policy.config, history)
    dim = history.x.shape[1]
    if pool.ndim != 2 or pool.shape[1] != dim or available.shape != pool.shape[:1]:
        raise ValueError(f"pool must be [N, {dim}] and available [N], got {pool.shape} and {available.shape}")
    if pool.shape[0] == 0:
        raise ValueError("the pool is empty")
    if isinstance(policy.config, JudgeConfig):
        index = _best_of_pool(policy, history, pool, available, remaining)
    else:
        index = nearest(pool, available, propose(policy, history))
    if not isinstance(index, Tracer) and index < 0:
        raise ValueError("the pool is exhausted: none of its points is available")
    return index


@jax.jit
def _best_of_pool(
    policy: Policy, history: History, pool: Array, available: Array, remaining: ArrayLike | None
) -> Array:
    """Of a large pool some points all over it are scored first, then those around the best of them."""
    left, mixture = _remaining(history, remaining), _mixture(history.cleaned())
    # The available points, evenly in their order in the pool; the variance is averaged over all of it.
    order, number = jnp.argsort(~available, stable=True), available.sum()
    size = min(len(pool), LARGEST_POOL)
    rows = order[jnp.arange(size) * number // size if size < len(pool) else jnp.arange(size)]
    grid = pool[jnp.arange(min(len(pool), POOL_GRID)) * len(pool) // min(len(pool), POOL_GRID)]

    def best(rows: Array) -> Array:
        covered = jnp.ones(len(grid), bool)
        scores = score_places(policy, mixture, left, pool[rows], available[rows], grid, covered)
        return rows[jnp.argmax(scores)]

    index = best(rows)
    if size < len(pool):
        square = sum(jnp.square(pool[:, d] - pool[index, d]) for d in range(pool.shape[1]))
        index = best(jax.lax.top_k(jnp.where(available, -jnp.asarray(square), -jnp.inf), size)[1])
    return jnp.where(available[index], index, -1)


@jax.jit
def nearest(pool: Array, available: Array, x: Array) -> Array:
    """The index of the available point of ``pool [N, D]`` nearest to ``x [D]``, or -1."""
    # One column at a time, for a sum over the short last axis does not vectorise.
    squares = sum(jnp.square(pool[:, d] - x[d]) for d in range(x.shape[0]))
    index = jnp.argmin(jnp.where(available, squares, jnp.inf))
    return jnp.where(available[index], index, -1)


@functools.partial(jax.jit, static_argnames=("q",))
def propose_batch(policy: Policy, history: History, q: int, remaining: ArrayLike | None = None) -> Array:
    """The next ``q`` inputs ``[q, D]`` at once, for parallel test benches.

    Each is proposed with the ones before it pending: their places are taken, and their outputs are not known.

    Args:
        policy: the policy.
        history: points measured so far; it need not have room for the new ones.
        q: how many inputs.
        remaining: queries to go, these among them, as in `propose`.
    """
    if q < 1:
        raise ValueError(f"q must be at least 1, got {q}")
    _check(policy.config, history)
    left, dim = _remaining(history, remaining), history.x.shape[1]
    pending = jnp.zeros(history.capacity, bool) if history.pending is None else history.pending
    room: Any = (jnp.zeros((q, dim)), jnp.zeros(q), jnp.zeros(q, bool), jnp.zeros(q, bool))
    wider = History(*(jnp.concatenate(pair) for pair in zip((*history[:3], pending), room, strict=True)))

    def ask(state: History, number: Array):
        x = _propose(policy, state, jnp.maximum(left - number, 1))
        row = history.capacity + number
        pending = jnp.asarray(state.pending).at[row].set(True)
        return History(state.x.at[row].set(x), state.y, state.mask.at[row].set(True), pending), x

    return jax.lax.scan(ask, wider, jnp.arange(q))[1]


def exportable(
    policy: Policy, dim: int | None, capacity: int | None
) -> tuple[Callable[..., Array], dict[str, jax.ShapeDtypeStruct]]:
    """`propose` as a function of plain arrays, and the shapes of its arguments, for `alx.io.export`."""
    if isinstance(policy.config, PolicyConfig):
        dim = policy.config.dim if dim is None else dim
        capacity = policy.config.capacity if capacity is None else capacity
    for name, value in (("dim", dim), ("capacity", capacity)):
        if value is None:
            raise ValueError(f"{name} must be given: the general policy takes any, a file of it only one")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    shape = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    arguments: dict[str, Any] = {
        "x": shape((capacity, dim)),
        "y": shape((capacity,)),
        "mask": shape((capacity,), dtype=bool),
    }
    if isinstance(policy.config, JudgeConfig):
        arguments["remaining"] = shape((), dtype=jnp.int32)

    def next_input(x: Array, y: Array, mask: Array, remaining: Array | None = None) -> Array:
        return propose(policy, History(x, y, mask), remaining)

    _check(policy.config, History(arguments["x"], arguments["y"], arguments["mask"]))
    return next_input, arguments
