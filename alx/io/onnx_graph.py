"""An ONNX graph as it grows: nodes, and constants that are stored once and no larger than they have to be."""

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["Graph", "Value", "element_type"]

OPSET = 18
IR_VERSION = 8  # old enough for runtimes of several years
SMALL = 256  # numbers that are not worth a node to spare them
Value = np.ndarray | str  # a constant, or the name of a tensor


def element_type(dtype: Any) -> int:
    """The number that ONNX has for a dtype."""
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class Graph:
    """The nodes and constants so far."""

    def __init__(self):
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[Any, TensorProto] = {}

    def tensor(self, value: Value) -> str:
        """The name of a value; a constant gets one here."""
        if isinstance(value, str):
            return value
        compact = _compact(value)
        if compact.shape != value.shape:
            return self.node("Expand", compact, np.asarray(value.shape, np.int64))
        key = value.dtype, value.shape, value.tobytes()
        if key not in self.constants:
            array = np.ascontiguousarray(value).reshape(value.shape)
            self.constants[key] = numpy_helper.from_array(array, f"c{len(self.constants)}")
        return self.constants[key].name

    def node(self, kind: str, *inputs: Value, **attributes: Any) -> str:
        """The name of the output of a new node."""
        return self.outputs(1, kind, *inputs, **attributes)[0]

    def outputs(self, number: int, kind: str, *inputs: Value, **attributes: Any) -> list[str]:
        """The names of so many outputs of a new node."""
        operands = [self.tensor(value) for value in inputs]
        names = [f"t{len(self.nodes)}_{i}" for i in range(number)]
        self.nodes.append(helper.make_node(kind, operands, names, **attributes))
        return names

    def model(self, inputs: dict[str, Any], result: Value, output: str, shape: Any) -> bytes:
        """The checked and serialised model that gives ``result`` the name ``output``.

        Args:
            inputs: what has a shape and a dtype, for each input.
            result: the value.
            output: its name.
            shape: what has its shape and its dtype.
        """
        self.nodes.append(helper.make_node("Identity", [self.tensor(result)], [output]))
        nodes, needed = [], {output}
        for node in reversed(self.nodes):
            if needed & {*node.output}:
                nodes.append(node)
                needed |= {*node.input}
        graph = helper.make_graph(
            nodes[::-1],
            "alx_policy",
            [_info(name, aval) for name, aval in inputs.items()],
            [_info(output, shape)],
            [constant for constant in self.constants.values() if constant.name in needed],
        )
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, producer_name="alx", ir_version=IR_VERSION, opset_imports=opset)
        onnx.checker.check_model(model, full_check=True)
        return model.SerializeToString()


def _compact(value: np.ndarray) -> np.ndarray:
    """A large constant that repeats itself along some axes, without the repetitions."""
    if value.size > SMALL:
        for axis in range(value.ndim):
            first = value.take([0], axis)
            if (value == first).all():
                value = first
    return value


def _info(name: str, aval: Any) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element_type(aval.dtype), aval.shape)
