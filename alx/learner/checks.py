"""What users hand over, checked: each function returns a clean value or raises a ValueError."""

from typing import Any

import numpy as np

__all__ = ["as_array", "as_bounds", "as_numbers", "as_scalar", "as_whole_number", "short"]


def as_array(name: str, value: Any) -> np.ndarray:
    """An array of numbers, NaN among them allowed."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, got {short(value)}") from None
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be numbers, got {short(value)}")
    return array.astype(np.float64)


def as_numbers(name: str, value: Any) -> np.ndarray:
    """An array of finite numbers."""
    array = as_array(name, value)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {short(value)}")
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
        raise ValueError(f"{name} must be a whole number of at least {least}, got {short(value)}")
    return int(value)


def as_bounds(value: Any) -> np.ndarray:
    """Lower and upper bounds ``[D, 2]``."""
    bounds = as_numbers("bounds", value)
    if bounds.ndim != 2 or bounds.shape[0] < 1 or bounds.shape[1] != 2:
        raise ValueError(f"bounds must be one (low, high) pair for each input, got shape {bounds.shape}")
    return bounds


def short(value: Any) -> str:
    """What came, in at most sixty characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
