"""Raw outputs in any unit -> the scale the policies were trained on: mean 0, variance 1.

The true mean and spread of a new function are unknown, so they are estimated from the outputs so far. What
holds at every size: the result does not change when the unit or the zero of y does, and it is finite.
"""

import numpy as np

__all__ = ["standardise"]

# Outputs further than this many robust standard deviations from the median are pulled in to it.
FENCE = 5.0
# Below this number of points a spread by quantiles says nothing.
ENOUGH = 5


def standardise(y: np.ndarray, mean: float | None = None, std: float | None = None) -> np.ndarray:
    """Standardised outputs.

    One point, and outputs that are all equal, give zeros. Two give -0.7 and 0.7, as any two would. From five
    on, outliers are first pulled in towards the median, so that one bad reading does not flatten the rest.

    Args:
        y: outputs ``[n]``, finite.
        mean: their true mean when it is known, else it is estimated.
        std: their true standard deviation when it is known, else it is estimated.
    """
    y = np.asarray(y, np.float64)
    if y.size == 0:
        return y
    # In units of the largest number around, squares of 1e200 stay finite.
    unit = max(np.abs(y).max(), abs(mean or 0.0)) or 1.0
    y = y / unit
    fenced = y if std is not None else _pull_in(y)
    centre = fenced.mean() if mean is None else mean / unit
    centred = fenced - centre
    if std is not None:
        return centred / (std / unit)
    degrees = y.size - (mean is None)
    spread = np.sqrt(np.square(centred).sum() / max(degrees, 1))
    rounding = 1e-12  # of numbers of size one: a smaller spread is not one
    return centred / spread if spread > rounding else np.zeros_like(y)


def _pull_in(y: np.ndarray) -> np.ndarray:
    if y.size < ENOUGH:
        return y
    median = np.median(y)
    sigma = 1.4826 * np.median(np.abs(y - median))
    return np.clip(y, median - FENCE * sigma, median + FENCE * sigma) if sigma > 0 else y
