"""The arguments of a learner, checked: each function returns clean arrays or raises a ValueError."""

from typing import Any

import numpy as np

from alx.learner.checks import as_array, as_numbers, short
from alx.learner.domain import Domain, from_bounds, from_inputs
from alx.learner.inputs import Input

__all__ = ["as_domain_inputs", "as_outputs", "as_tolerance", "for_each_output"]


def as_domain_inputs(bounds: Any, inputs: Any, pool: Any) -> tuple[Input, ...]:
    """What is varied: the inputs, or real numbers with these bounds, or with the range of the pool."""
    if pool is not None and np.size(pool) == 0:
        raise ValueError("the pool is empty")
    if inputs is not None:
        if bounds is not None:
            raise ValueError("bounds and inputs say the same: give one of them")
        return from_inputs(inputs)
    if bounds is not None:
        return from_bounds(bounds)
    if pool is None:
        raise ValueError("bounds are needed: one (low, high) pair for each input")
    rows = as_numbers("pool", pool)
    rows = rows.reshape(-1, 1) if rows.ndim < 2 else rows
    if rows.ndim != 2:
        raise ValueError(f"pool must be rows [N, D], got shape {rows.shape}")
    return from_bounds(np.stack([rows.min(0), rows.max(0)], 1))


def for_each_output(name: str, value: Any, outputs: int) -> np.ndarray | None:
    """One number for each output, None for none; a single one is for all of them."""
    if value is None:
        return None
    numbers = np.atleast_1d(as_numbers(name, value))
    if numbers.shape not in ((1,), (outputs,)):
        raise ValueError(
            f"{name} must be one number for each output, got shape {numbers.shape} for {outputs}"
        )
    return np.broadcast_to(numbers, (outputs,)).copy()


def as_tolerance(value: Any, domain: Domain) -> np.ndarray:
    """How far a measurement may lie from the point asked for, ``[D]``; at least as far as rounding goes."""
    if value is None:
        return domain.rounding
    numbers = np.atleast_1d(as_numbers("tolerance", value))
    if numbers.shape not in ((1,), (domain.dim,)) or (numbers < 0).any():
        raise ValueError(f"tolerance must be one number of at least 0 for each input, got {short(value)}")
    return np.maximum(numbers, domain.rounding)


def as_outputs(value: Any, points: int, outputs: int) -> np.ndarray:
    """Outputs ``[points, outputs]``, NaN for what failed or is missing."""
    array = as_array("y", value)
    if np.isinf(array).any():
        raise ValueError(f"y must be finite, or NaN where a measurement failed, got {short(value)}")
    if outputs == 1:
        table = np.atleast_1d(array)
        if table.shape not in ((points,), (points, 1)):
            raise ValueError(
                f"y must be one number for each point, got shape {table.shape} for {points} points"
            )
    else:
        # A measurement that failed as a whole may be told as one NaN.
        whole = array.ndim == 0 and np.isnan(array)
        table = np.full((1, outputs), np.nan) if whole else np.atleast_2d(array)
        if table.shape != (points, outputs):
            raise ValueError(
                f"y must be {outputs} numbers for each point, got shape {array.shape} for {points} points"
            )
    return np.where(np.isnan(table), np.nan, table).reshape(points, outputs)
