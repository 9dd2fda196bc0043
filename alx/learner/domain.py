"""Where may be measured: named inputs and a constraint, and the numbers by which points are stored and seen.

A point has three forms. *Rows* are what users write: numbers, and levels of choices. *Codes* are float64
numbers, one for each input, with the index of a level for a choice: the form that is kept and saved. The
*embedding* is what the belief sees: numbers scaled to the unit cube, and a choice as one column for each
level, of which one is 1/sqrt(2) and the others 0, so that any two levels are at distance 1.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from alx.gp.lattice import lattice
from alx.learner.checks import as_bounds, as_numbers, short
from alx.learner.inputs import Choice, Input, Integer, Real

__all__ = ["Domain", "from_bounds", "from_inputs"]

# Points come back from JSON, CSV or float32 a little changed; by less than this part of the range.
ROUNDING = 1e-6
# A measured point may lie outside the bounds by this part of the range: actuators overshoot.
OVERSHOOT = 0.1
SEARCHED = 8192  # places at which a constraint is evaluated once, at the start
FEWEST = 64  # of them have to be allowed: below, the allowed part is too thin to find places in
LISTED = 4096  # whole domains of at most this many points are gone through one by one
NEIGHBOURS = 512  # places around a point at which a constraint is evaluated


@dataclasses.dataclass(frozen=True)
class Domain:
    """The points that may be asked for.

    Attributes:
        inputs: what is varied.
        constraint: ``rows [n, D] -> [n]`` of True and False, or None.
    """

    inputs: tuple[Input, ...]
    constraint: Callable[[np.ndarray], Any] | None = None

    @property
    def dim(self) -> int:
        return len(self.inputs)

    @functools.cached_property
    def _real(self) -> np.ndarray:
        return np.array([isinstance(each, Real) for each in self.inputs])

    @functools.cached_property
    def _continuous(self) -> bool:
        return all(isinstance(each, Real) for each in self.inputs)

    @functools.cached_property
    def _mixed(self) -> bool:
        return any(isinstance(each, Choice) for each in self.inputs)

    @property
    def plain(self) -> bool:
        """Whether this is a box of real numbers and nothing else."""
        return self.constraint is None and self._continuous

    @functools.cached_property
    def bounds(self) -> np.ndarray:
        """Smallest and largest code of each input, ``[D, 2]``."""
        ends = [
            (0, len(each.levels) - 1) if isinstance(each, Choice) else (each.low, each.high)
            for each in self.inputs
        ]
        return np.array(ends, np.float64)

    @functools.cached_property
    def groups(self) -> tuple[int, ...]:
        """For each column of the embedding the input it belongs to; those of one share a lengthscale."""
        return tuple(
            d
            for d, each in enumerate(self.inputs)
            for _ in range(len(each.levels) if isinstance(each, Choice) else 1)
        )

    @functools.cached_property
    def rounding(self) -> np.ndarray:
        """How far apart two codes of the same value may be, ``[D]``."""
        low, high = self.bounds.T
        slack = ROUNDING * (high - low) + np.finfo(np.float32).eps * np.maximum(abs(low), abs(high))
        return np.where(self._real, slack, 0.25)

    def codes(self, name: str, value: Any, overshoot: float = 0.0) -> np.ndarray:
        """The codes ``[n, D]`` of rows, of one row ``[D]``, or with one input of a list of values.

        What rounding has put just outside the bounds is moved back in; further out, by ``overshoot`` times
        the range, it stays as it is.
        """
        array = self._table(name, value)
        codes = np.empty(array.shape)
        for d, each in enumerate(self.inputs):
            codes[:, d] = _column(name, each, array[:, d])
        low, high = self.bounds.T
        slack = self.rounding + np.where(self._real, overshoot * (high - low), 0)
        outside = (codes < low - slack) | (codes > high + slack)
        if outside.any():
            row, d = np.argwhere(outside)[0]
            raise ValueError(
                f"{name} must lie inside the bounds, got {codes[row, d]:g} for ({low[d]:g}, {high[d]:g})"
            )
        just = (codes >= low - self.rounding) & (codes <= high + self.rounding)
        return np.where(just, np.clip(codes, low, high), codes)

    def holds(self, codes: np.ndarray) -> bool:
        """Whether all the codes ``[n, D]`` are of points that may be told."""
        low, high = self.bounds.T
        slack = self.rounding + OVERSHOOT * (high - low)
        return bool((np.isfinite(codes) & (codes >= low - slack) & (codes <= high + slack)).all())

    def _table(self, name: str, value: Any) -> np.ndarray:
        try:
            array = np.array(value, object) if self._mixed else as_numbers(name, value)
        except ValueError:
            if not self._mixed:
                raise
            array = np.empty((0, 0, 0))  # ragged
        table = array.reshape(-1, 1) if self.dim == 1 and array.ndim < 2 else np.atleast_2d(array)
        if table.ndim != 2 or table.shape[1] != self.dim:
            shape = "ragged rows" if array.ndim == 3 and array.size == 0 else f"shape {array.shape}"
            raise ValueError(f"{name} must have {self.dim} coordinates for each point, got {shape}")
        return table

    def rows(self, codes: np.ndarray) -> np.ndarray:
        """Codes as users write them: float64 when all inputs are numbers, else an array of objects."""
        if not self._mixed:
            return codes.copy()
        rows = np.empty(codes.shape, object)
        for d, each in enumerate(self.inputs):
            values = codes[:, d]
            if isinstance(each, Choice):
                rows[:, d] = [each.levels[int(value)] for value in values]
            else:
                rows[:, d] = [int(v) if isinstance(each, Integer) else float(v) for v in values]
        return rows

    def embed(self, codes: np.ndarray) -> np.ndarray:
        """What the belief sees of codes ``[n, D]``: float32 ``[n, E]``."""
        columns = []
        for d, each in enumerate(self.inputs):
            if isinstance(each, Choice):
                columns.append((codes[:, d, None] == np.arange(len(each.levels))) * math.sqrt(0.5))
            else:
                columns.append((codes[:, d, None] - each.low) / (each.high - each.low))
        return np.concatenate(columns, 1).astype(np.float32)

    def fill(self, unit: np.ndarray) -> np.ndarray:
        """Codes at places of the unit cube ``[..., D]``; whole numbers and levels have equal shares of it."""
        low, high = self.bounds.T
        unit = np.asarray(unit, np.float64)
        codes = low + unit * (high - low)
        if not self._continuous:
            codes = np.where(self._real, codes, low + np.floor(unit * (high - low + 1)))
        return np.minimum(np.maximum(codes, low), high)

    def allows(self, codes: np.ndarray) -> np.ndarray:
        """Which of the codes ``[n, D]`` satisfy the constraint, ``[n]``."""
        if self.constraint is None or len(codes) == 0:
            return np.ones(len(codes), bool)
        result = np.asarray(self.constraint(self.rows(codes)))
        if result.shape != (len(codes),) or result.dtype != bool:
            raise ValueError(
                f"constraint must give True or False for each of the {len(codes)} rows it gets, "
                f"got {result.dtype} of shape {result.shape}"
            )
        return result

    @functools.cached_property
    def size(self) -> float:
        """How many points there are without the constraint; infinite with a real input."""
        if any(isinstance(each, Real) for each in self.inputs):
            return math.inf
        return math.prod(int(high - low) + 1 for low, high in self.bounds)

    @functools.cached_property
    def places(self) -> np.ndarray:
        """Allowed codes, spread evenly, in an order whose beginning and end are spread evenly, too.

        The whole domain when it is small enough (see ``listed``), else some thousand places of it.
        """
        if self.listed:
            values = [np.arange(low, high + 1) for low, high in self.bounds]
            codes = np.array(list(itertools.product(*values)))
            codes = codes[np.random.default_rng(0).permutation(len(codes))]
        else:
            codes = _distinct(self.fill(lattice(SEARCHED, self.dim)))
        allowed = codes[self.allows(codes)]
        fewest = 1 if self.listed else FEWEST
        if len(allowed) < fewest:
            found = f"{len(allowed)} of {len(codes)} places spread over the domain"
            raise ValueError(
                f"the constraint allows {found}, at least {fewest} are needed: "
                "narrow the bounds around what is allowed, or check the constraint"
            )
        return allowed

    @property
    def listed(self) -> bool:
        """Whether ``places`` is the whole domain."""
        return self.size <= LISTED

    def around(self, code: np.ndarray, width: float, n: int) -> np.ndarray:
        """At most ``n`` allowed codes around one ``[D]``, itself the first, within ``width`` of the range.

        Choices stay as they are.
        """
        low, high = self.bounds.T
        centre = np.where(self._real, (code - low) / (high - low), (code - low + 0.5) / (high - low + 1))
        unit = np.clip(centre + width * (2 * lattice(NEIGHBOURS, self.dim) - 1), 0, 1)
        codes = self.fill(unit)
        fixed = [isinstance(each, Choice) for each in self.inputs]
        codes = _distinct(np.vstack([code, np.where(fixed, code, codes)]))
        return codes[self.allows(codes)][:n]


def from_bounds(bounds: Any) -> tuple[Input, ...]:
    """Real inputs x1, x2 ... with these bounds."""
    return tuple(Real(f"x{d}", low, high) for d, (low, high) in enumerate(as_bounds(bounds), 1))


def from_inputs(inputs: Any) -> tuple[Input, ...]:
    """A user's list of inputs, checked."""
    several = isinstance(inputs, list | tuple) and len(inputs) > 0
    if not several or not all(isinstance(each, Real | Integer | Choice) for each in inputs):
        raise ValueError(f"inputs must be a list of Real, Integer and Choice, got {short(inputs)}")
    names = [each.name for each in inputs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"inputs must have different names, got {name!r} twice")
    return tuple(inputs)


def _distinct(codes: np.ndarray) -> np.ndarray:
    _, first = np.unique(codes, axis=0, return_index=True)
    return codes[np.sort(first)]


def _column(name: str, each: Input, values: np.ndarray) -> np.ndarray:
    if isinstance(each, Choice):
        index = {str(level): i for i, level in enumerate(each.levels)}
        for value in values:
            if str(value) not in index:
                raise ValueError(
                    f"{name} must have one of {short(list(each.levels))} for {each.name}, got {short(value)}"
                )
        return np.array([index[str(value)] for value in values], np.float64)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must have numbers for {each.name}, got {short(values.tolist())}") from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite, got {short(values.tolist())} for {each.name}")
    if isinstance(each, Integer):
        whole = np.round(numbers)
        if (np.abs(numbers - whole) > 1e-6 * np.maximum(1, abs(whole))).any():
            raise ValueError(f"{name} must have whole numbers for {each.name}, got {short(values.tolist())}")
        return whole
    return numbers
