"""A jaxpr -> an ONNX model: each primitive that a policy uses is one or a few ONNX nodes (`RULES`).

Everything that does not depend on the inputs, weights included, is computed here and becomes a constant.
Loops are unrolled, so their counters are constants as well.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

from alx.io.onnx_graph import Graph, Value
from alx.io.onnx_rules import RULES, SIMPLE

__all__ = ["translate"]

CALLS = ("jaxpr", "call_jaxpr", "call")  # where primitives keep the jaxpr that they call
SAME = {"stop_gradient", "copy", "optimization_barrier"}


def _broadcast(
    x: np.ndarray, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], **_
) -> np.ndarray:
    return np.broadcast_to(np.expand_dims(x, [*({*range(len(shape))} - {*broadcast_dimensions})]), shape)


# Constants that NumPy computes: JAX would compile most of a hundred operations for them, seconds in all.
FOLDS: dict[str, Callable[..., np.ndarray]] = {
    "broadcast_in_dim": _broadcast,
    "convert_element_type": lambda x, *, new_dtype, **_: x.astype(new_dtype),
}


def translate(closed: ClosedJaxpr, inputs: Sequence[str], output: str) -> bytes:
    """The serialised ONNX model of a jaxpr with named inputs and one output."""
    graph = Graph()
    (result,) = _walk(graph, closed.jaxpr, closed.consts, inputs)
    avals = {name: _aval(var) for name, var in zip(inputs, closed.jaxpr.invars, strict=True)}
    return graph.model(avals, result, output, _aval(closed.jaxpr.outvars[0]))


def _aval(var: Any) -> Any:
    return var.aval


def _walk(graph: Graph, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Value]) -> list[Value]:
    known: dict[Any, Value] = dict(zip(jaxpr.constvars, map(np.asarray, consts), strict=True))
    known |= zip(jaxpr.invars, args, strict=True)

    def look_up(var: Any) -> Value:
        return np.asarray(var.val, _aval(var).dtype) if isinstance(var, Literal) else known[var]

    for eqn in jaxpr.eqns:
        outputs = _equation(graph, eqn, [look_up(var) for var in eqn.invars])
        known |= zip(eqn.outvars, outputs, strict=True)
    return [look_up(var) for var in jaxpr.outvars]


def _equation(graph: Graph, eqn: JaxprEqn, inputs: list[Value]) -> Sequence[Value]:
    name = eqn.primitive.name
    if name == "scan":
        return _scan(graph, eqn, inputs)
    inner = next((eqn.params[key] for key in CALLS if key in eqn.params), None)
    if isinstance(inner, ClosedJaxpr):
        return _walk(graph, inner.jaxpr, inner.consts, inputs)
    if not any(isinstance(value, str) for value in inputs):
        if name in FOLDS:
            return [FOLDS[name](*inputs, **eqn.params)]
        outputs = eqn.primitive.bind(*inputs, **eqn.params)
        return jax.tree.map(np.asarray, outputs if eqn.primitive.multiple_results else [outputs])
    if name in SAME:
        return inputs
    if name in SIMPLE:
        return [graph.node(SIMPLE[name], *inputs)]
    if name in RULES:
        result = RULES[name](graph, eqn, *inputs)
        return result if isinstance(result, list) else [result]
    raise ValueError(f"the policy cannot be exported to ONNX: it uses {name!r}")


def _scan(graph: Graph, eqn: JaxprEqn, inputs: list[Value]) -> list[Value]:
    """Unrolled. A `fori_loop` with known ends is a scan of states alone."""
    body, fixed, states = eqn.params["jaxpr"], eqn.params["num_consts"], eqn.params["num_carry"]
    if len(inputs) > fixed + states or len(eqn.outvars) > states:
        raise ValueError("the policy cannot be exported to ONNX: it uses a 'scan' over arrays")
    state = inputs[fixed:]
    for _ in range(eqn.params["length"]):
        state = _walk(graph, body.jaxpr, body.consts, [*inputs[:fixed], *state])
    return state
