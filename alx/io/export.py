"""A policy as one self-contained file for machines without alx: a ``jax.export`` artefact or ONNX.

Both hold the weights and take one history of fixed capacity: ``x [capacity, D]`` float32 in the unit cube,
``y [capacity]`` float32 standardised, ``mask [capacity]`` bool; both return the next input ``[D]``.

    call = jax.export.deserialize(Path("policy.jaxexport").read_bytes()).call
    x_next = call(x, y, mask)
"""

from collections.abc import Callable

import jax
import jax.export
import jax.numpy as jnp
from jax import Array

from alx.history import History
from alx.network.policy import Policy
from alx.propose import propose

__all__ = ["to_jax", "to_onnx"]

PLATFORMS = ("cpu", "cuda")


def to_jax(policy: Policy, capacity: int | None = None) -> bytes:
    """The artefact for ``jax.export.deserialize``, good for CPUs and NVIDIA GPUs.

    Args:
        policy: the policy.
        capacity: rows of the history; what the policy was trained for by default.
    """
    function, arguments = _function(policy, capacity)
    return bytes(jax.export.export(jax.jit(function), platforms=PLATFORMS)(*arguments).serialize())


def to_onnx(policy: Policy, capacity: int | None = None) -> bytes:
    """The same as an ONNX model with inputs ``x``, ``y``, ``mask`` and output ``x_next``."""
    try:
        from alx.io.onnx import translate  # onnx is an extra
    except ImportError:
        raise ValueError("ONNX export needs the extra onnx: pip install 'alx[onnx]'") from None
    function, arguments = _function(policy, capacity)
    return translate(jax.make_jaxpr(function)(*arguments), ("x", "y", "mask"), "x_next")


def _function(policy: Policy, capacity: int | None) -> tuple[Callable[..., Array], tuple]:
    capacity = policy.config.capacity if capacity is None else capacity
    if capacity < 1:
        raise ValueError(f"capacity must be at least 1, got {capacity}")

    def next_input(x: Array, y: Array, mask: Array) -> Array:
        return propose(policy, History(x, y, mask))

    x = jax.ShapeDtypeStruct((capacity, policy.config.dim), jnp.float32)
    y = jax.ShapeDtypeStruct((capacity,), jnp.float32)
    return next_input, (x, y, jax.ShapeDtypeStruct((capacity,), bool))
