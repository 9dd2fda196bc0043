"""The next query from a policy and a history: one point, a point of a pool, or several points at once."""

import functools
import logging
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array
from jax.core import Tracer
from jax.typing import ArrayLike

from alx.history import History
from alx.network.policy import Params, Policy, PolicyConfig, apply

__all__ = [
    "impute_mean",
    "impute_nearest",
    "keep_apart",
    "nearest",
    "notice_capacity",
    "propose",
    "propose_batch",
    "propose_from_pool",
]

# Training never sees an output this far out; beyond it the network's answer would mean nothing.
LARGEST_Y = 10.0
CHUNK = 64  # experiments whose attention stays in a processor's cache
Impute = Callable[[History, Array], Array]


def propose(policy: Policy, history: History) -> Array:
    """The next input ``[D]`` in the unit cube.

    Pure, for one experiment: use it inside ``jit``, ``lax.scan``, ``shard_map`` and ``grad``, and ``vmap`` it
    over experiments. The order of the points does not matter, and an empty history has an answer, too.
    Outputs beyond ten standard deviations count as ten.

    Args:
        policy: the policy.
        history: points measured so far, x in the unit cube and y standardised. A capacity beyond the
            policy's own works; a notice says once that this is outside what was trained.
    """
    _check(policy.config, history)
    return _propose(policy, history)


def _check(config: PolicyConfig, history: History) -> None:
    if history.x.ndim != 2:
        raise ValueError(
            f"propose takes one history with x [capacity, D], got x {history.x.shape}: use jax.vmap"
        )
    if history.x.shape[1] != config.dim:
        raise ValueError(f"the policy is for {config.dim} inputs, got a history with {history.x.shape[1]}")
    if history.capacity > config.capacity:
        notice_capacity(config, history.capacity)


@functools.cache
def notice_capacity(config: PolicyConfig, capacity: int) -> None:
    """Say once that histories of this capacity go beyond the training."""
    logging.getLogger("alx").warning(
        "The capacity %d is larger than the %d points this policy was trained for; "
        "queries beyond those are outside what it has learned.",
        capacity,
        config.capacity,
    )


@jax.jit
def _propose(policy: Policy, history: History) -> Array:
    # Whatever is written in the padding, even NaN, must not reach the sums.
    x = jnp.where(history.mask[:, None], history.x, 0)
    y = jnp.where(history.mask, jnp.clip(history.y, -LARGEST_Y, LARGEST_Y), 0)
    return _apply(policy.config, policy.params, x.T, y, history.mask)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _apply(config: PolicyConfig, params: Params, x: Array, y: Array, mask: Array) -> Array:
    """The network on one experiment; `vmap` over it puts experiments last, where the network wants them."""

    @jax.custom_batching.custom_vmap
    def one(params, x, y, mask):
        return apply(params, config, x, y, mask)

    @one.def_vmap
    def many(size, batched, params, *points):
        if any(jax.tree.leaves(batched[0])):
            each = jax.tree.map(lambda b: 0 if b else None, tuple(batched))
            return jax.vmap(lambda *a: apply(a[0], config, *a[1:]), each)(params, *points), True
        points = [
            a if b else jnp.broadcast_to(a, (size, *a.shape))
            for a, b in zip(points, batched[1:], strict=True)
        ]

        def at_once(*points):
            return jnp.moveaxis(apply(params, config, *(jnp.moveaxis(a, 0, -1) for a in points)), -1, 0)

        def in_chunks(*points):
            return jax.lax.map(lambda own: one(params, *own), points, batch_size=CHUNK)

        if config.network != "paper" or size <= CHUNK:
            return at_once(*points), True
        return jax.lax.platform_dependent(*points, cpu=in_chunks, default=at_once), True

    return one(params, x, y, mask)


def _apply_forward(config, *operands):
    return _apply(config, *operands), operands


def _apply_backward(config, operands, cotangent):
    # What custom_vmap lacks: it has no reverse mode of its own.
    params, x, y, mask = operands
    backward = jax.vjp(lambda params, x, y: apply(params, config, x, y, mask), params, x, y)[1]
    return *backward(cotangent), None


_apply.defvjp(_apply_forward, _apply_backward)


def propose_from_pool(policy: Policy, history: History, pool: ArrayLike, available: ArrayLike) -> Array:
    """The index of the pool point nearest to the policy's proposal.

    Clear ``available`` at the index before the next call and no point is taken twice.

    Args:
        policy: the policy.
        history: points measured so far.
        pool: the candidates ``[N, D]`` in the unit cube.
        available: which of them may be taken, ``[N]``.

    Returns:
        The index. When nothing is available that is a ValueError, and under ``jit``, where nothing can be
        raised, -1.
    """
    pool, available = jnp.asarray(pool), jnp.asarray(available, bool)
    if pool.ndim != 2 or pool.shape[1] != policy.config.dim or available.shape != pool.shape[:1]:
        raise ValueError(
            f"pool must be [N, {policy.config.dim}] and available [N], got {pool.shape} and {available.shape}"
        )
    if pool.shape[0] == 0:
        raise ValueError("the pool is empty")
    index = nearest(pool, available, propose(policy, history))
    if not isinstance(index, Tracer) and index < 0:
        raise ValueError("the pool is exhausted: none of its points is available")
    return index


@jax.jit
def nearest(pool: Array, available: Array, x: Array) -> Array:
    """The index of the available point of ``pool [N, D]`` nearest to ``x [D]``, or -1."""
    # One column at a time, for a sum over the short last axis does not vectorise.
    squares = sum(jnp.square(pool[:, d] - x[d]) for d in range(x.shape[0]))
    index = jnp.argmin(jnp.where(available, squares, jnp.inf))
    return jnp.where(available[index], index, -1)


def impute_mean(history: History, x: Array) -> Array:
    """A pending query is taken to give the mean of the outputs so far."""
    del x
    return history.y.sum(where=history.mask) / jnp.maximum(history.count, 1)


def impute_nearest(history: History, x: Array) -> Array:
    """A pending query is taken to give the output of the nearest point, 0 without points."""
    row = nearest(history.x, history.mask, x)
    return jnp.where(row < 0, 0, history.y[row])


@functools.partial(jax.jit, static_argnames=("q", "impute"))
def propose_batch(policy: Policy, history: History, q: int, impute: Impute = impute_nearest) -> Array:
    """The next ``q`` inputs ``[q, D]`` at once, for parallel test benches.

    Each is proposed with the ones before it in the history, as if they had been measured; ``impute`` says
    with which output. All are distinct: a proposal too close to another of the batch moves to the nearest
    free place.

    Args:
        policy: the policy.
        history: points measured so far; it need not have room for the new ones.
        q: how many inputs.
        impute: ``impute_nearest`` or ``impute_mean``, or any function of a history and an input.
    """
    if q < 1:
        raise ValueError(f"q must be at least 1, got {q}")
    _check(policy.config, history)
    count = history.capacity
    room = History.empty(q, policy.config.dim)
    pending = History(*(jnp.concatenate(pair) for pair in zip(history, room, strict=True)))

    def add(pending: History, row: Array):
        x = keep_apart(_propose(policy, pending), pending.x[count:], pending.mask[count:])
        y = impute(pending, x)
        pending = History(pending.x.at[row].set(x), pending.y.at[row].set(y), pending.mask.at[row].set(True))
        return pending, x

    return jax.lax.scan(add, pending, count + jnp.arange(q))[1]


@jax.jit
def keep_apart(x: Array, taken: Array, mask: Array) -> Array:
    """``x [D]`` itself, or the nearest free place when a taken point ``[q, D]`` is too close to it.

    Too close is a quarter of the side of the small cubes that q points would share the unit cube with; so
    there always is a free place.
    """
    q, dim = taken.shape
    places = _lattice(max(256, 4 * q), dim).astype(x.dtype)
    options = jnp.concatenate([x[None], places])
    squares = jnp.square(options[:, None] - taken).sum(-1)
    distance = jnp.sqrt(jnp.where(mask, squares, jnp.inf).min(1))
    detour = jnp.sqrt(jnp.square(options - x).sum(-1))
    free = distance >= 0.25 * q ** (-1 / dim)
    return options[jnp.argmin(jnp.where(free, detour, jnp.inf))]


def _lattice(n: int, dim: int) -> Array:
    """A Kronecker lattice: ``n`` points that fill the unit cube evenly, in any dimension."""
    root = 2.0  # the generalised golden ratio, the positive root of z^(dim+1) = z + 1
    for _ in range(64):
        root = (1 + root) ** (1 / (dim + 1))
    steps = root ** -jnp.arange(1.0, dim + 1)
    return (0.5 + jnp.arange(n)[:, None] * steps) % 1
