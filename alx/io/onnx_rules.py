"""What each primitive of JAX is in ONNX."""

import itertools
import string
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend.core import JaxprEqn
from onnx import TensorProto

from alx.io.onnx_graph import Graph, Value, element_type

__all__ = ["RULES", "SIMPLE"]

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


def _reshape(g: Graph, eqn: JaxprEqn, x: Value) -> Value:
    return g.node("Reshape", x, _ints(_aval(eqn.outvars[0]).shape))


def _broadcast(g: Graph, eqn: JaxprEqn, x: Value) -> Value:
    shape, place = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    padded = [1] * len(shape)
    for axis, size in zip(place, _aval(eqn.invars[0]).shape, strict=True):
        padded[axis] = size
    return g.node("Expand", g.node("Reshape", x, _ints(padded)), _ints(shape))


def _dot(g: Graph, eqn: JaxprEqn, a: Value, b: Value) -> Value:
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


def _dynamic_slice(g: Graph, eqn: JaxprEqn, x: Value, *starts: Value) -> Value:
    sizes = eqn.params["slice_sizes"]
    last = _ints(n - size for n, size in zip(_aval(eqn.invars[0]).shape, sizes, strict=True))
    flat = [g.node("Reshape", g.node("Cast", s, to=TensorProto.INT64), _ints([1])) for s in starts]
    begin = g.node("Min", g.node("Max", g.node("Concat", *flat, axis=0), _ints([0])), last)
    return g.node("Slice", x, begin, g.node("Add", begin, _ints(sizes)))


def _slice(g: Graph, eqn: JaxprEqn, x: Value) -> Value:
    begin, end = eqn.params["start_indices"], eqn.params["limit_indices"]
    strides = eqn.params["strides"] or [1] * len(begin)
    return g.node("Slice", x, _ints(begin), _ints(end), _ints(range(len(begin))), _ints(strides))


def _split(g: Graph, eqn: JaxprEqn, x: Value) -> list[Value]:
    ends = np.cumsum([0, *eqn.params["sizes"]])
    axis = _ints([eqn.params["axis"]])
    return [g.node("Slice", x, _ints([a]), _ints([b]), axis) for a, b in itertools.pairwise(ends)]


def _reduce(kind: str) -> Callable[..., Value]:
    return lambda g, eqn, x: g.node(kind, x, _ints(eqn.params["axes"]), keepdims=0)


def _reduce_bool(kind: str) -> Callable[..., Value]:
    def rule(g: Graph, eqn: JaxprEqn, x: Value) -> Value:
        reduced = _reduce(kind)(g, eqn, g.node("Cast", x, to=TensorProto.INT32))
        return g.node("Cast", reduced, to=TensorProto.BOOL)

    return rule


def _gather(g: Graph, eqn: JaxprEqn, x: Value, indices: Value) -> Value:
    """Whole slices at single indices of some axes, as in `x[i]`, `x[:, i]` and `diagonal`."""
    numbers, shape = eqn.params["dimension_numbers"], _aval(eqn.invars[0]).shape
    axes, offset = numbers.start_index_map, numbers.offset_dims
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    whole = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    inside = eqn.params["mode"] == jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS
    if not inside or eqn.params["slice_sizes"] != whole or {*numbers.collapsed_slice_dims} != {*axes}:
        raise _no("gather", "other than of whole slices at indices that are known to be in bounds")
    leading = g.node("Transpose", x, perm=[*axes, *rest])
    found = g.node("GatherND", leading, g.node("Cast", indices, to=TensorProto.INT64))
    # GatherND puts the axes of the indices first, and the gather those of a slice at `offset_dims`.
    ndim = _aval(eqn.outvars[0]).ndim
    batch, last = iter(range(ndim - len(offset))), iter(range(ndim - len(offset), ndim))
    order = [next(last if axis in offset else batch) for axis in range(ndim)]
    return g.node("Transpose", found, perm=order)


def _scatter(g: Graph, eqn: JaxprEqn, x: Value, index: Value, row: Value) -> Value:
    """One row at an index that is known, as in `x.at[i].set(row)`."""
    numbers, shape = eqn.params["dimension_numbers"], _aval(eqn.invars[0]).shape
    first = numbers.scatter_dims_to_operand_dims == numbers.inserted_window_dims == (0,)
    if isinstance(index, str) or index.shape != (1,) or not first or not 0 <= index[0] < shape[0]:
        raise _no("scatter", "other than of one row at an index that is known")
    return g.node("ScatterND", x, index.astype(np.int64)[None], g.node("Unsqueeze", row, _ints([0])))


def _arg(kind: str) -> Callable[..., Value]:
    def rule(g: Graph, eqn: JaxprEqn, x: Value) -> Value:
        (axis,) = eqn.params["axes"]
        return g.node(
            "Cast", g.node(kind, x, axis=axis, keepdims=0), to=element_type(_aval(eqn.outvars[0]).dtype)
        )

    return rule


def _top_k(g: Graph, eqn: JaxprEqn, x: Value) -> list[Value]:
    values, indices = g.outputs(2, "TopK", x, _ints([eqn.params["k"]]), axis=eqn.params["axis"])
    return [values, g.node("Cast", indices, to=element_type(_aval(eqn.outvars[1]).dtype))]


def _stack(g: Graph, eqn: JaxprEqn, *xs: Value) -> Value:
    axis = eqn.params["axis"]
    return g.node("Concat", *(g.node("Unsqueeze", x, _ints([axis])) for x in xs), axis=axis)


def _no(name: str, what: str) -> ValueError:
    return ValueError(f"the policy cannot be exported to ONNX: it uses {name!r} {what}")


RULES: dict[str, Callable[..., Value | list[Value]]] = {
    "argmax": _arg("ArgMax"),
    "argmin": _arg("ArgMin"),
    "broadcast_in_dim": _broadcast,
    "clamp": lambda g, eqn, low, x, high: g.node("Min", g.node("Max", x, low), high),
    "concatenate": lambda g, eqn, *xs: g.node("Concat", *xs, axis=eqn.params["dimension"]),
    "convert_element_type": lambda g, eqn, x: g.node("Cast", x, to=element_type(eqn.params["new_dtype"])),
    "dot_general": _dot,
    "dynamic_slice": _dynamic_slice,
    "expand_dims": _reshape,
    "gather": _gather,
    "integer_pow": lambda g, eqn, x: g.node("Pow", x, eqn.params["y"] * _one(eqn)),
    "log1p": lambda g, eqn, x: g.node("Log", g.node("Add", x, _one(eqn))),
    "ne": lambda g, eqn, a, b: g.node("Not", g.node("Equal", a, b)),
    "reduce_and": _reduce_bool("ReduceMin"),
    "reduce_max": _reduce("ReduceMax"),
    "reduce_min": _reduce("ReduceMin"),
    "reduce_or": _reduce_bool("ReduceMax"),
    "reduce_sum": _reduce("ReduceSum"),
    "rem": lambda g, eqn, a, b: g.node("Mod", a, b, fmod=1),
    "reshape": _reshape,
    "rsqrt": lambda g, eqn, x: g.node("Reciprocal", g.node("Sqrt", x)),
    "scatter": _scatter,
    "select_n": lambda g, eqn, which, no, yes: g.node("Where", which, yes, no),
    "slice": _slice,
    "split": _split,
    "square": lambda g, eqn, x: g.node("Mul", x, x),
    "squeeze": _reshape,
    "stack": _stack,
    "top_k": _top_k,
    "transpose": lambda g, eqn, x: g.node("Transpose", x, perm=eqn.params["permutation"]),
}
