"""What users hand over, checked: each function returns a clean float64 array or raises a ValueError."""

from typing import Any

import numpy as np

__all__ = ["as_bounds", "as_numbers", "as_points", "as_rows", "as_scalar", "as_whole_number", "tolerance"]

# Points come back from JSON, CSV or float32 a little changed; by less than this part of the range.
TOLERANCE = 1e-6


def as_numbers(name: str, value: Any) -> np.ndarray:
    """An array of finite numbers."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, got {_short(value)}") from None
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be numbers, got {_short(value)}")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {_short(value)}")
    return array


def as_scalar(name: str, value: Any) -> float:
    """One finite number."""
    array = as_numbers(name, value)
    if array.size != 1:
        raise ValueError(f"{name} must be one number, got {array.size}")
    return float(array.reshape(()))


def as_whole_number(name: str, value: Any, least: int) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {_short(value)}")
    return int(value)


def as_bounds(value: Any) -> np.ndarray:
    """Lower and upper bounds ``[D, 2]``."""
    bounds = as_numbers("bounds", value)
    if bounds.ndim != 2 or bounds.shape[0] < 1 or bounds.shape[1] != 2:
        raise ValueError(f"bounds must be one (low, high) pair for each input, got shape {bounds.shape}")
    for low, high in bounds:
        if not low < high:
            raise ValueError(f"bounds must have low < high, got ({low:g}, {high:g})")
        if not 1e-9 * max(abs(low), abs(high), 1e-290) < float(high) - float(low) < np.inf:
            raise ValueError(f"bounds ({low:g}, {high:g}) are too close or too far apart for float64")
    return bounds


def as_rows(name: str, value: Any, dim: int) -> np.ndarray:
    """Points ``[n, D]``; a single one may come as ``[D]``, and points with one input as a list of numbers."""
    array = as_numbers(name, value)
    rows = array.reshape(-1, 1) if dim == 1 and array.ndim < 2 else np.atleast_2d(array)
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise ValueError(f"{name} must have {dim} coordinates for each point, got shape {array.shape}")
    return rows


def as_points(name: str, value: Any, bounds: np.ndarray) -> np.ndarray:
    """Points ``[n, D]`` inside the bounds; a point that rounding has put just outside is moved back in."""
    points = as_rows(name, value, len(bounds))
    low, high = bounds.T
    slack = tolerance(bounds)
    outside = (points < low - slack) | (points > high + slack)
    if outside.any():
        row, d = np.argwhere(outside)[0]
        raise ValueError(
            f"{name} must lie inside the bounds, got {points[row, d]:g} for ({low[d]:g}, {high[d]:g})"
        )
    return np.clip(points, low, high)


def tolerance(bounds: np.ndarray) -> np.ndarray:
    """How far apart two numbers for the same input may be, for each dimension."""
    low, high = bounds.T
    return TOLERANCE * (high - low) + np.finfo(np.float32).eps * np.maximum(abs(low), abs(high))


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
