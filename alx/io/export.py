"""A function as one self-contained file for machines without alx: a ``jax.export`` artefact or ONNX.

`alx.export` writes a policy so. The file holds the weights and takes one history of fixed capacity: ``x
[capacity, D]`` float32 in the unit cube, ``y [capacity]`` float32 standardised, ``mask [capacity]`` bool, and
for the general policy ``remaining``, int32, the queries to go; it returns the next input ``[D]``.

    call = jax.export.deserialize(Path("policy.jaxexport").read_bytes()).call
    x_next = call(x, y, mask, remaining)
"""

from collections.abc import Callable, Mapping

import jax
import jax.export
from jax import Array

__all__ = ["to_jax", "to_onnx"]

PLATFORMS = ("cpu", "cuda")
Arguments = Mapping[str, jax.ShapeDtypeStruct]  # shape and dtype of each argument, in order


def to_jax(function: Callable[..., Array], arguments: Arguments) -> bytes:
    """The artefact for ``jax.export.deserialize``, good for CPUs and NVIDIA GPUs."""
    exported = jax.export.export(jax.jit(function), platforms=PLATFORMS)(*arguments.values())
    return bytes(exported.serialize())


def to_onnx(function: Callable[..., Array], arguments: Arguments) -> bytes:
    """The same as an ONNX model with inputs of these names and the output ``x_next``."""
    try:
        from alx.io.onnx import translate  # onnx is an extra
    except ImportError:
        raise ValueError("ONNX export needs the extra onnx: pip install -e '.[onnx]'") from None
    return translate(jax.make_jaxpr(function)(*arguments.values()), [*arguments], "x_next")
