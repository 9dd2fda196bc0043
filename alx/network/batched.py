"""The paper's network on one experiment, fast under `vmap` as well."""

import functools

import jax
import jax.numpy as jnp
from jax import Array

from alx.network.policy import Params, PolicyConfig, apply

__all__ = ["apply_one"]

CHUNK = 64  # experiments whose attention stays in a processor's cache


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def apply_one(config: PolicyConfig, params: Params, x: Array, y: Array, mask: Array) -> Array:
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


def _forward(config, *operands):
    return apply_one(config, *operands), operands


def _backward(config, operands, cotangent):
    # What custom_vmap lacks: it has no reverse mode of its own.
    params, x, y, mask = operands
    backward = jax.vjp(lambda params, x, y: apply(params, config, x, y, mask), params, x, y)[1]
    return *backward(cotangent), None


apply_one.defvjp(_forward, _backward)
