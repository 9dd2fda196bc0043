"""Raw outputs in any unit -> the scale the policies were trained on: mean 0, variance 1.

The true mean and spread of a new function are unknown, so they are estimated from the outputs so far. What
holds at every size: the result does not change when the unit or the zero of y does, and it is finite.
"""

from typing import NamedTuple

import numpy as np

__all__ = ["Scale", "scale", "standardise"]

# Outputs further out than this many times the range of the inner ones are pulled in: 6 standard deviations
# of a normal distribution, and nothing of a function like Branin's.
FENCE = 2.0
# Below this number of points nothing can be told from an outlier.
ENOUGH = 5
# A spread this small, beside the outputs themselves, is none.
ROUNDING = 1e-12


def standardise(y: np.ndarray, mean: float | None = None, std: float | None = None) -> np.ndarray:
    """Standardised outputs.

    One point, and outputs that are all equal, give zeros. Two give -0.7 and 0.7, as any two would. From five
    on, outliers are first pulled in towards the others, so that one bad reading does not flatten the rest.

    Args:
        y: outputs ``[n]``, finite.
        mean: their true mean when it is known, else it is estimated.
        std: their true standard deviation when it is known, else it is estimated.
    """
    y = np.asarray(y, np.float64)
    if y.size == 0:
        return y
    # In units of the largest number around, squares of 1e200 stay finite.
    unit = max(np.abs(y).max(), abs(mean or 0.0), std or 0.0) or 1.0
    y = y / unit
    fenced = y if std is not None else _pull_in(y)
    centre = fenced.mean() if mean is None else mean / unit
    centred = fenced - centre
    if std is not None:
        return centred / (std / unit)
    degrees = y.size - (mean is None)
    spread = np.sqrt(np.square(centred).sum() / max(degrees, 1))
    return centred / spread if spread > ROUNDING else np.zeros_like(y)


class Scale(NamedTuple):
    """Raw outputs are ``centre + spread * standardised``; the spread is infinite while it is unknown."""

    centre: float
    spread: float


def scale(y: np.ndarray, mean: float | None = None, std: float | None = None) -> Scale:
    """The scale of the outputs ``[n]`` as a model sees them: as they were measured, outliers as well."""
    y = np.asarray(y, np.float64)
    if y.size == 0:
        return Scale(mean or 0.0, std or np.inf)
    unit = np.abs(y).max() or 1.0
    centre = float(y.mean() if mean is None else mean)
    degrees = max(y.size - (mean is None), 1)
    spread = float(unit * np.sqrt(np.square((y - centre) / unit).sum() / degrees)) if std is None else std
    return Scale(centre, spread if spread > ROUNDING * unit else np.inf)


def _pull_in(y: np.ndarray) -> np.ndarray:
    """Outputs clipped to a fence around the inner ones, which leave out a tenth at each end, one at least."""
    if y.size < ENOUGH:
        return y
    aside = max(1, y.size // 10)
    inner = np.sort(y)[aside:-aside]
    width = inner[-1] - inner[0]
    return np.clip(y, inner[0] - FENCE * width, inner[-1] + FENCE * width) if width > ROUNDING else y
