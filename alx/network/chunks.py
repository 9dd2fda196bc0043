"""Many experiments under `vmap`, on a CPU some at a time: what they need then stays in its cache."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

__all__ = ["in_chunks"]


def in_chunks(function: Callable[..., Array], size: int) -> Callable[..., Array]:
    """A function of one experiment which under `vmap` on a CPU sees ``size`` experiments at once.

    On other devices, and where it is differentiated, it sees all of them.
    """

    @jax.custom_batching.custom_vmap
    def one(*arguments):
        return function(*arguments)

    @one.def_vmap
    def many(number: int, batched: Any, *arguments):
        leaves, tree = jax.tree.flatten(arguments)
        varies = jax.tree.leaves(batched)

        def at_once(*own):
            each = iter(own)
            full = [next(each) if b else leaf for b, leaf in zip(varies, leaves, strict=True)]
            axes = tree.unflatten([0 if b else None for b in varies])
            return jax.vmap(function, axes)(*tree.unflatten(full))

        def in_turn(*own):
            turns = -(-number // size)
            chunks = [_cut(a, turns, size) for a in own]
            # Each turn is handed its experiments by the one before. Where they are looked up, XLA would look
            # up every number wherever it is used, in loops that do not vectorise then.
            first, following = [a[0] for a in chunks], [jnp.roll(a, -1, 0) for a in chunks]
            answers = jax.lax.scan(lambda now, then: (then, at_once(*now)), first, following)[1]
            return answers.reshape(turns * size, *answers.shape[2:])[:number]

        own = [leaf for b, leaf in zip(varies, leaves, strict=True) if b]
        if number <= size:
            return at_once(*own), True
        return jax.lax.platform_dependent(*own, cpu=in_turn, default=at_once), True

    @jax.custom_jvp
    def differentiable(*arguments):
        return one(*arguments)

    # What custom_vmap lacks: it has no reverse mode of its own.
    differentiable.defjvp(lambda primals, tangents: jax.jvp(function, primals, tangents))
    return differentiable


def _cut(a: Array, turns: int, size: int) -> Array:
    """``[turns, size, ...]``, the last ones repeated to fill the last turn."""
    rows = [(0, turns * size - len(a))] + [(0, 0)] * (a.ndim - 1)
    return jnp.pad(a, rows, mode="edge").reshape(turns, size, *a.shape[1:])
