"""What is believed about each output, kept up to date as points come, and told in the user's units."""

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np

from alx.history import LARGEST_Y
from alx.learner.compiled import Compiled, history, padded
from alx.learner.standardise import Scale, scale, standardise

__all__ = [
    "ErrorEstimate",
    "Kernels",
    "OutputBelief",
    "estimate_error",
    "interval",
    "kernels",
    "predict",
    "update",
]

SMALLEST_BLOCK, LARGEST_BLOCK = 64, 1024  # points predicted at once: few sizes, so that few are compiled
T_90 = 1.9432  # 90 % of a Student t with FREEDOM degrees of freedom lie within this many scales


@dataclasses.dataclass(frozen=True)
class OutputBelief:
    """One output: the points at which it was measured, and what is believed of it.

    Attributes:
        run: belief and policy as functions.
        x: embedded points ``[n, E]``.
        y: its outputs ``[n]``, as they were measured.
        seen: the outputs standardised, outliers pulled in, padded; queries are chosen by these.
        belief: of the outputs as seen.
        likely: the likely kernels of that belief.
        plain: the outputs standardised with all outliers, padded; the model predicts by these.
        scale: from standardised to measured outputs.
    """

    run: Compiled
    x: np.ndarray
    y: np.ndarray
    seen: np.ndarray
    belief: Any
    likely: Any
    plain: np.ndarray
    scale: Scale

    @functools.cached_property
    def model(self) -> Any:
        """The likely kernels, refined: made when first asked for, and kept."""
        return self.run.refine(self.belief, padded(self.x.astype(np.float64), len(self.plain)), self.plain)


class ErrorEstimate(NamedTuple):
    """The model's root-mean-square error over the domain, and a range that holds it nine times of ten."""

    rmse: Any
    low: Any
    high: Any


class Kernels(NamedTuple):
    """The likely kernels of an output in its units, the likeliest first.

    Attributes:
        weight: how likely each is beside the others, ``[top]``.
        lengthscale: over what distance the output changes, for each input in its unit, ``[top, D]``. One
            longer than the range hardly matters. For a choice the distance of two levels is 1.
        noise_sd: the deviation of the noise in measurements, ``[top]``.
        signal_sd: the deviation of the output itself, ``[top]``.
    """

    weight: np.ndarray
    lengthscale: np.ndarray
    noise_sd: np.ndarray
    signal_sd: np.ndarray


def update(
    run: Compiled,
    old: OutputBelief | None,
    x: np.ndarray,
    y: np.ndarray,
    known: tuple[float | None, float | None],
    capacity: int,
) -> OutputBelief:
    """The belief after the points ``x [n, E]``, ``y [n]``: one more row when only one has come, else anew."""
    seen = padded(np.clip(standardise(y, *known), -LARGEST_Y, LARGEST_Y).astype(np.float32), capacity)
    own = scale(y, *known)
    plain = padded((y - own.centre) / own.spread, capacity)
    n = len(y)
    if old is not None and len(old.plain) != capacity:
        old = None
    if old is not None and np.array_equal(old.x, x) and np.array_equal(old.y, y):
        return old
    if old is not None and n > 0 and np.array_equal(old.x, x[:-1]):
        belief, likely = run.tell(old.belief, x[-1], seen, np.int32(n - 1))
    else:
        belief, likely = run.believe(history(x, seen[:n], x[:0], capacity))
    return OutputBelief(run, x, y, seen, belief, likely, plain, own)


def predict(one: OutputBelief, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation ``[m]`` of the output at embedded points ``[m, E]``."""
    mean, sd = _in_blocks(lambda part: one.run.predict(one.model, part), x)
    return one.scale.centre + _finite(one.scale) * mean, one.scale.spread * sd


def interval(one: OutputBelief, x: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Where the output lies with this probability, ``[m]`` each."""
    low, high = _in_blocks(lambda part: one.run.interval(one.model, part, np.float64(level)), x)
    return one.scale.centre + one.scale.spread * low, one.scale.centre + one.scale.spread * high


def kernels(one: OutputBelief, groups: tuple[int, ...], widths: np.ndarray) -> Kernels:
    """The likely kernels, with the inputs' ranges ``[D]`` for units of length; groups as in the domain."""
    weight, lengthscale, noise, signal = _likely(one, groups)
    spread = one.scale.spread
    return Kernels(weight, lengthscale * widths, spread * np.sqrt(noise * signal), spread * np.sqrt(signal))


def estimate_error(one: OutputBelief, places: np.ndarray) -> ErrorEstimate:
    """The error over embedded places ``[m, E]`` of the whole domain.

    It is against the function itself, without the noise of measurements.
    """
    size = -(-len(places) // SMALLEST_BLOCK) * SMALLEST_BLOCK
    rmse, spread = map(float, one.run.error(one.model, padded(places, size), np.arange(size) < len(places)))
    rmse *= one.scale.spread
    if not np.isfinite(rmse):
        return ErrorEstimate(rmse, 0.0, rmse)
    factor = float(np.exp(T_90 * spread))
    return ErrorEstimate(rmse, rmse / factor, rmse * factor)


def _likely(one: OutputBelief, groups: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Weights, lengthscales ``[top, D]``, noise over signal and signal variance, standardised."""
    mixture = one.model
    columns = [groups.index(d) for d in range(max(groups) + 1)]
    scale = 1 / np.asarray(mixture.inverse_scale, np.float64)[:, columns]
    weight, noise, signal = (
        np.asarray(each, np.float64) for each in (mixture.weight, mixture.noise, mixture.signal)
    )
    return weight, scale, noise, signal


def _finite(own: Scale) -> float:
    return own.spread if np.isfinite(own.spread) else 0.0


def _in_blocks(function, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    size = SMALLEST_BLOCK
    while size < min(len(x), LARGEST_BLOCK):
        size *= 2
    parts = [x[begin : begin + size].astype(np.float64) for begin in range(0, len(x), size)]
    results = [[np.asarray(a)[: len(part)] for a in function(padded(part, size))] for part in parts]
    first, second = zip(*results, strict=True) if results else ([np.zeros(0)], [np.zeros(0)])
    return np.concatenate(first), np.concatenate(second)
