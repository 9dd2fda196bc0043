"""What can be varied in an experiment: real numbers, whole numbers, and choices among a few levels."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from alx.learner.checks import as_scalar, as_whole_number, short

__all__ = ["Choice", "Input", "Integer", "Real"]

# Two bounds closer than this, beside their own size, leave too few float64 numbers between them.
CLOSEST = 1e-9


@dataclasses.dataclass(frozen=True)
class Real:
    """An input that takes any value between two bounds.

    Attributes:
        name: what it is called in tables and pictures.
        low: the smallest value.
        high: the largest value.
        unit: its unit, for tables and pictures.
    """

    name: str
    low: float
    high: float
    unit: str = ""

    def __post_init__(self) -> None:
        _check_texts(self.name, self.unit)
        low, high = (
            as_scalar(f"the low of {self.name}", self.low),
            as_scalar(f"the high of {self.name}", self.high),
        )
        if not low < high:
            raise ValueError(f"bounds must have low < high, got ({low:g}, {high:g}) for {self.name}")
        if not CLOSEST * max(abs(low), abs(high), 1e-290) < high - low < np.inf:
            raise ValueError(
                f"bounds ({low:g}, {high:g}) of {self.name} are too close or too far apart for float64"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)


@dataclasses.dataclass(frozen=True)
class Integer:
    """An input that takes the whole numbers from ``low`` to ``high``, both included.

    Attributes:
        name: what it is called in tables and pictures.
        low: the smallest value.
        high: the largest value.
        unit: its unit, for tables and pictures.
    """

    name: str
    low: int
    high: int
    unit: str = ""

    def __post_init__(self) -> None:
        _check_texts(self.name, self.unit)
        low = as_whole_number(f"the low of {self.name}", self.low, -(2**53))
        high = as_whole_number(f"the high of {self.name}", self.high, low + 1)
        if high > 2**53:
            raise ValueError(f"the high of {self.name} must be at most 2^53, got {high}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)


@dataclasses.dataclass(frozen=True)
class Choice:
    """An input that takes one of a few levels, which have no order and are all equally different.

    Attributes:
        name: what it is called in tables and pictures.
        levels: at least two different texts or numbers.
    """

    name: str
    levels: Sequence[Any]

    def __post_init__(self) -> None:
        _check_texts(self.name, "")
        levels = () if isinstance(self.levels, str) else tuple(_plain(level) for level in self.levels)
        if len(levels) < 2 or len(set(map(str, levels))) < len(levels):
            raise ValueError(
                f"the levels of {self.name} must be at least two different texts or numbers, "
                f"got {short(self.levels)}"
            )
        if not all(isinstance(level, str | int | float) for level in levels):
            raise ValueError(f"the levels of {self.name} must be texts or numbers, got {short(self.levels)}")
        object.__setattr__(self, "levels", levels)

    @property
    def unit(self) -> str:
        return ""


Input = Real | Integer | Choice


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _check_texts(name: Any, unit: Any) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"the name of an input must be a text, got {short(name)}")
    if not isinstance(unit, str):
        raise ValueError(f"the unit of {name} must be a text, got {short(unit)}")
