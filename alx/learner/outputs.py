"""What is measured in an experiment: one output or several, with names, units and weights."""

import dataclasses
from typing import Any

from alx.learner.checks import as_scalar, short

__all__ = ["Output", "from_outputs"]


@dataclasses.dataclass(frozen=True)
class Output:
    """A number that each measurement gives.

    Attributes:
        name: what it is called in tables and pictures.
        unit: its unit, for tables and pictures.
        weight: how much it counts, relative to the other outputs, when the next query is chosen.
    """

    name: str
    unit: str = ""
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ValueError(f"the name of an output must be a text, got {short(self.name)}")
        if not isinstance(self.unit, str):
            raise ValueError(f"the unit of {self.name} must be a text, got {short(self.unit)}")
        weight = as_scalar(f"the weight of {self.name}", self.weight)
        if weight <= 0:
            raise ValueError(f"the weight of {self.name} must be positive, got {weight:g}")
        object.__setattr__(self, "weight", weight)


def from_outputs(outputs: Any, taken: tuple[str, ...]) -> tuple[Output, ...]:
    """A user's list of names and outputs, checked; ``taken`` are the names of the inputs."""
    if not isinstance(outputs, list | tuple) or not outputs:
        raise ValueError(f"outputs must be a list of names or Outputs, got {short(outputs)}")
    result = tuple(each if isinstance(each, Output) else Output(each) for each in outputs)
    names = [*taken, *(each.name for each in result)]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"inputs and outputs must have different names, got {name!r} twice")
    return result
