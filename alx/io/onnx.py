"""A jaxpr -> an ONNX model: each primitive that a policy network uses is one or a few ONNX nodes.

Everything that does not depend on the inputs, weights included, is computed here and becomes a constant.
"""

import itertools
import string
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import onnx
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from onnx import TensorProto, helper, numpy_helper

__all__ = ["translate"]

OPSET = 18
IR_VERSION = 8  # old enough for runtimes of several years
CALLS = ("jaxpr", "call_jaxpr", "call")  # where primitives keep the jaxpr that they call
Value = np.ndarray | str  # a constant, or the name of a tensor


def translate(closed: ClosedJaxpr, inputs: Sequence[str], output: str) -> bytes:
    """The serialised ONNX model of a jaxpr with named inputs and one output."""
    graph = _Graph()
    (result,) = graph.walk(closed.jaxpr, closed.consts, inputs)
    graph.nodes.append(helper.make_node("Identity", [graph.tensor(result)], [output]))
    proto = helper.make_graph(
        graph.nodes,
        "alx_policy",
        [_info(name, _aval(var)) for name, var in zip(inputs, closed.jaxpr.invars, strict=True)],
        [_info(output, _aval(closed.jaxpr.outvars[0]))],
        graph.constants,
    )
    model = helper.make_model(
        proto, producer_name="alx", ir_version=IR_VERSION, opset_imports=[helper.make_opsetid("", OPSET)]
    )
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


def _info(name: str, aval: Any) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, _type(aval.dtype), aval.shape)


def _type(dtype: Any) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class _Graph:
    """The nodes and constants so far."""

    def __init__(self):
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []

    def tensor(self, value: Value) -> str:
        if isinstance(value, str):
            return value
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name))
        return name

    def node(self, kind: str, *inputs: Value, **attributes) -> str:
        name = f"t{len(self.nodes)}"
        names = [self.tensor(value) for value in inputs]
        self.nodes.append(helper.make_node(kind, names, [name], **attributes))
        return name

    def walk(self, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Value]) -> list[Value]:
        known: dict[Any, Value] = dict(zip(jaxpr.constvars, map(np.asarray, consts), strict=True))
        known |= zip(jaxpr.invars, args, strict=True)

        def look_up(var: Any) -> Value:
            return np.asarray(var.val, _aval(var).dtype) if isinstance(var, Literal) else known[var]

        for eqn in jaxpr.eqns:
            outputs = self.equation(eqn, [look_up(var) for var in eqn.invars])
            known |= zip(eqn.outvars, outputs, strict=True)
        return [look_up(var) for var in jaxpr.outvars]

    def equation(self, eqn: JaxprEqn, inputs: list[Value]) -> Sequence[Value]:
        name = eqn.primitive.name
        inner = next((eqn.params[key] for key in CALLS if key in eqn.params), None)
        if isinstance(inner, ClosedJaxpr):
            return self.walk(inner.jaxpr, inner.consts, inputs)
        if not any(isinstance(value, str) for value in inputs):
            outputs = eqn.primitive.bind(*inputs, **eqn.params)
            return jax.tree.map(np.asarray, outputs if eqn.primitive.multiple_results else [outputs])
        if name in SAME:
            return inputs
        if name in SIMPLE:
            return [self.node(SIMPLE[name], *inputs)]
        if name in RULES:
            result = RULES[name](self, eqn, *inputs)
            return result if isinstance(result, list) else [result]
        raise ValueError(f"the policy cannot be exported to ONNX: its network uses {name!r}")


SAME = {"stop_gradient", "copy", "optimization_barrier"}
SIMPLE = {
    "abs": "Abs",
    "add": "Add",
    "and": "And",
    "asinh": "Asinh",
    "cos": "Cos",
    "div": "Div",
    "eq": "Equal",
    "erf": "Erf",
    "exp": "Exp",
    "ge": "GreaterOrEqual",
    "gt": "Greater",
    "le": "LessOrEqual",
    "log": "Log",
    "logistic": "Sigmoid",
    "lt": "Less",
    "max": "Max",
    "min": "Min",
    "mul": "Mul",
    "neg": "Neg",
    "not": "Not",
    "or": "Or",
    "sin": "Sin",
    "sqrt": "Sqrt",
    "sub": "Sub",
    "tanh": "Tanh",
}


def _aval(var: Any) -> Any:
    return var.aval


def _ints(values: Any) -> np.ndarray:
    return np.asarray(list(values), np.int64)


def _one(eqn: JaxprEqn) -> np.ndarray:
    return np.ones((), _aval(eqn.outvars[0]).dtype)


def _reshape(g: _Graph, eqn: JaxprEqn, x: Value) -> Value:
    return g.node("Reshape", x, _ints(_aval(eqn.outvars[0]).shape))


def _broadcast(g: _Graph, eqn: JaxprEqn, x: Value) -> Value:
    shape, place = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    padded = [1] * len(shape)
    for axis, size in zip(place, _aval(eqn.invars[0]).shape, strict=True):
        padded[axis] = size
    return g.node("Expand", g.node("Reshape", x, _ints(padded)), _ints(shape))


def _dot(g: _Graph, eqn: JaxprEqn, a: Value, b: Value) -> Value:
    """As an einsum: the result has the batch axes, then the free ones of a, then those of b."""
    (contract_a, contract_b), (batch_a, batch_b) = eqn.params["dimension_numbers"]
    letters = iter(string.ascii_lowercase)
    names_a = [next(letters) for _ in _aval(eqn.invars[0]).shape]
    names_b = [next(letters) for _ in _aval(eqn.invars[1]).shape]
    for i, j in zip((*contract_a, *batch_a), (*contract_b, *batch_b), strict=True):
        names_b[j] = names_a[i]
    free_a = [n for i, n in enumerate(names_a) if i not in (*contract_a, *batch_a)]
    free_b = [n for j, n in enumerate(names_b) if j not in (*contract_b, *batch_b)]
    out = [names_a[i] for i in batch_a] + free_a + free_b
    equation = f"{''.join(names_a)},{''.join(names_b)}->{''.join(out)}"
    return g.node("Einsum", a, b, equation=equation)


def _dynamic_slice(g: _Graph, eqn: JaxprEqn, x: Value, *starts: Value) -> Value:
    sizes = eqn.params["slice_sizes"]
    last = _ints(n - size for n, size in zip(_aval(eqn.invars[0]).shape, sizes, strict=True))
    flat = [g.node("Reshape", g.node("Cast", s, to=TensorProto.INT64), _ints([1])) for s in starts]
    begin = g.node("Min", g.node("Max", g.node("Concat", *flat, axis=0), _ints([0])), last)
    return g.node("Slice", x, begin, g.node("Add", begin, _ints(sizes)))


def _slice(g: _Graph, eqn: JaxprEqn, x: Value) -> Value:
    begin, end = eqn.params["start_indices"], eqn.params["limit_indices"]
    strides = eqn.params["strides"] or [1] * len(begin)
    return g.node("Slice", x, _ints(begin), _ints(end), _ints(range(len(begin))), _ints(strides))


def _split(g: _Graph, eqn: JaxprEqn, x: Value) -> list[Value]:
    ends = np.cumsum([0, *eqn.params["sizes"]])
    axis = _ints([eqn.params["axis"]])
    return [g.node("Slice", x, _ints([a]), _ints([b]), axis) for a, b in itertools.pairwise(ends)]


def _reduce(kind: str) -> Callable[..., Value]:
    return lambda g, eqn, x: g.node(kind, x, _ints(eqn.params["axes"]), keepdims=0)


def _reduce_bool(kind: str) -> Callable[..., Value]:
    def rule(g: _Graph, eqn: JaxprEqn, x: Value) -> Value:
        reduced = _reduce(kind)(g, eqn, g.node("Cast", x, to=TensorProto.INT32))
        return g.node("Cast", reduced, to=TensorProto.BOOL)

    return rule


RULES: dict[str, Callable[..., Value | list[Value]]] = {
    "broadcast_in_dim": _broadcast,
    "clamp": lambda g, eqn, low, x, high: g.node("Min", g.node("Max", x, low), high),
    "concatenate": lambda g, eqn, *xs: g.node("Concat", *xs, axis=eqn.params["dimension"]),
    "convert_element_type": lambda g, eqn, x: g.node("Cast", x, to=_type(eqn.params["new_dtype"])),
    "dot_general": _dot,
    "dynamic_slice": _dynamic_slice,
    "expand_dims": _reshape,
    "integer_pow": lambda g, eqn, x: g.node("Pow", x, eqn.params["y"] * _one(eqn)),
    "log1p": lambda g, eqn, x: g.node("Log", g.node("Add", x, _one(eqn))),
    "ne": lambda g, eqn, a, b: g.node("Not", g.node("Equal", a, b)),
    "reduce_and": _reduce_bool("ReduceMin"),
    "reduce_max": _reduce("ReduceMax"),
    "reduce_or": _reduce_bool("ReduceMax"),
    "reduce_sum": _reduce("ReduceSum"),
    "rem": lambda g, eqn, a, b: g.node("Mod", a, b, fmod=1),
    "reshape": _reshape,
    "rsqrt": lambda g, eqn, x: g.node("Reciprocal", g.node("Sqrt", x)),
    "select_n": lambda g, eqn, which, no, yes: g.node("Where", which, yes, no),
    "slice": _slice,
    "split": _split,
    "square": lambda g, eqn, x: g.node("Mul", x, x),
    "squeeze": _reshape,
    "transpose": lambda g, eqn, x: g.node("Transpose", x, perm=eqn.params["permutation"]),
}
