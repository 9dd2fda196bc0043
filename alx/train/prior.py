"""p(theta): the prior over kernels and noise.

As everywhere in training, arrays begin with the axes of one experiment and end with that of experiments.

A kernel is k(x, x') = s(x) k0(w(x), w(x')) s(x') with a stationary ARD kernel k0. In the paper s = 1 and
w(x) = x. The `nonstationary` prior makes functions that are not the same everywhere: s is a bump, so that
the amplitude varies over the domain, and w the cdf of a Kumaraswamy distribution per input, so that the
lengthscale does. The `broad` prior covers the others and adds oscillations, as in seasons and resonances: its
k0 may carry a factor cos(f . (x - x')). The `unit` prior is `broad` with functions
of unit variance over the domain, as outputs have when they are standardised. The `general` prior, that of the
general policy, is `unit` with the lengthscales that the belief's bank of kernels covers.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
import tinygp
from jax import Array

from alx.train import plugin, serial
from alx.train.serial import LogUniform

__all__ = ["KERNELS", "PRIORS", "LogUniform", "Prior", "Theta", "sample"]

KERNELS = ("rbf", "matern32", "matern52")
Kernel = str | tinygp.kernels.Kernel
VARIANCE, LENGTHSCALE = dist.Uniform(0.505, 1.0), dist.Uniform(0.05, 1.0)  # of the paper


@dataclasses.dataclass(frozen=True, eq=False)
class Prior:
    """Distributions of what makes a function; the defaults are the paper's.

    Attributes:
        kernels: chosen with equal chances: rbf, matern32, matern52, a kernel of tinygp or the module:name of
            one. Each is evaluated at inputs over their lengthscales, and multiplied by the signal variance.
        variance: the signal variance v.
        lengthscale: of each input, independently.
        noise_sd: the noise standard deviation; None for a variance of 1.01 - v, as in the paper.
        modulated: share of functions with an amplitude that varies over the domain.
        warped: share of functions with warped inputs.
        oscillating: share of functions that oscillate.
        standardised: whether functions are scaled to unit variance over the domain. Unscaled, a draw of a
            smooth kernel varies less than its signal variance says, and drowns in more noise than a user's
            function has.
    """

    kernels: tuple[Kernel, ...] = ("rbf",)
    variance: dist.Distribution = VARIANCE
    lengthscale: dist.Distribution = LENGTHSCALE
    noise_sd: dist.Distribution | None = None
    modulated: float = 0.0
    warped: float = 0.0
    oscillating: float = 0.0
    standardised: bool = False

    def __post_init__(self):
        if not self.kernels:
            raise ValueError("kernels must be at least one, got none")
        for kernel in self.kernels:
            if not (kernel in KERNELS or isinstance(found_kernel(kernel), tinygp.kernels.Kernel)):
                raise ValueError(f"kernels must be {', '.join(KERNELS)} or kernels of tinygp, got {kernel!r}")
        for name in ("variance", "lengthscale", "noise_sd"):
            if (value := getattr(self, name)) is not None or name != "noise_sd":
                _check_positive(name, value)
        if self.noise_sd is None and _reaches(self.variance, 1.0 + 1e-6):
            raise ValueError(
                "variance must stay at or below 1 while the noise is 1.01 - variance, "
                f"got {words(self.variance)}"
            )
        for name in ("modulated", "warped", "oscillating"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be a share between 0 and 1, got {getattr(self, name)}")

    @property
    def named(self) -> bool:
        """Whether all kernels are alx's own, whose spectral densities are known."""
        return all(kernel in KERNELS for kernel in self.kernels)

    def __eq__(self, other) -> bool:
        return isinstance(other, Prior) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple:
        return tuple(str(_to_json(getattr(self, field.name), id)) for field in dataclasses.fields(self))

    def to_json(self) -> dict[str, Any]:
        """What makes the same prior again, in another process."""
        return {field.name: _to_json(getattr(self, field.name)) for field in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "Prior":
        """The inverse of `to_json`."""
        kernels = tuple(map(serial.kernel_from_json, fields["kernels"]))
        others: dict[str, Any] = {
            name: serial.distribution_from_json(value) if isinstance(value, dict) else value
            for name, value in fields.items()
            if name != "kernels"
        }
        return cls(kernels=kernels, **others)


def found_kernel(kernel: Kernel) -> Kernel:
    """One of alx's own stays a name; the module:name of one of tinygp is followed."""
    if isinstance(kernel, str) and kernel not in KERNELS:
        return plugin.find(kernel, dict.fromkeys(KERNELS), "kernels")
    return kernel


def _to_json(value: Any, otherwise=None) -> Any:
    """A field of a prior; where it cannot be written, what `otherwise` makes of it."""
    try:
        if isinstance(value, dist.Distribution):
            return serial.distribution_to_json(value)
        return list(map(serial.kernel_to_json, value)) if isinstance(value, tuple) else value
    except ValueError:
        if otherwise is None:
            raise
        return list(map(otherwise, value)) if isinstance(value, tuple) else otherwise(value)


def _check_positive(name: str, value: Any) -> None:
    one = isinstance(value, dist.Distribution) and value.batch_shape == value.event_shape == ()
    if not one:
        raise ValueError(
            f"{name} must be a numpyro distribution of one number, such as LogUniform(0.1, 1), got {value!r}"
        )
    ordered = getattr(value, "low", 1) <= getattr(value, "high", 1) < float("inf")
    if not ordered or _reaches(value, 0.0) or _reaches(value, -1.0):
        raise ValueError(f"{name} must be a distribution of positive numbers, got {words(value)}")


def _reaches(value: Any, number: float) -> bool:
    """Whether a number is in a distribution's support; that of one value is told as all numbers."""
    if isinstance(value, dist.Delta):
        v = float(value.v)  # pyright: ignore
        return v >= number if number > 0 else v <= number
    return bool(value.support(number))


def words(value: dist.Distribution) -> str:
    """A distribution as it is written on the command line."""
    try:
        return " ".join(serial.distribution_to_words(value))
    except ValueError:
        return repr(value)


_WIDE = Prior(
    kernels=KERNELS,
    variance=dist.Uniform(0.9, 1.0),
    lengthscale=LogUniform(0.08, 3.0),
    noise_sd=LogUniform(0.03, 0.3),
)
PRIORS: dict[str, Prior] = {
    "paper": Prior(),
    "wide": _WIDE,
    "nonstationary": dataclasses.replace(_WIDE, noise_sd=LogUniform(0.02, 0.05), modulated=0.75, warped=0.5),
    "broad": Prior(
        kernels=KERNELS,
        variance=dist.Uniform(0.5, 2.0),
        lengthscale=LogUniform(0.05, 2.0),
        noise_sd=LogUniform(0.03, 0.7),
        modulated=0.5,
        warped=0.4,
        oscillating=0.3,
    ),
}
PRIORS["unit"] = dataclasses.replace(PRIORS["broad"], standardised=True)
PRIORS["general"] = dataclasses.replace(PRIORS["unit"], lengthscale=LogUniform(0.08, 4.0))
CYCLES = 4.0  # over the domain, at most, in all inputs together: what a budget of some tens can resolve
RADIUS = dist.Uniform(0.12, 0.5)  # of the bump, from a corner of the domain to most of it
SHAPE = LogUniform(0.5, 2.0)  # of the Kumaraswamy cdf, so that lengthscales vary by some factors


class Theta(NamedTuple):
    """The kernel and the noise of an experiment: ``[...]``, or ``[D, ...]`` where there is one per input."""

    variance: Array
    lengthscale: Array
    noise: Array  # the variance s2
    kernel: Array  # index into Prior.kernels
    modulated: Array
    centre: Array
    radius: Array
    warped: Array
    shape_a: Array
    shape_b: Array
    frequency: Array  # in radians, 0 where nothing oscillates


def sample(key: Array, prior: Prior, dim: int, batch: tuple[int, ...] = ()) -> Theta:
    """Draw theta for a batch of experiments."""
    keys = iter(jax.random.split(key, 12))
    each = (dim, *batch)
    v = jnp.asarray(prior.variance.sample(next(keys), batch))
    noise_sd = None if prior.noise_sd is None else jnp.asarray(prior.noise_sd.sample(next(keys), batch))
    return Theta(
        variance=v,
        lengthscale=jnp.asarray(prior.lengthscale.sample(next(keys), each)),
        noise=1.01 - v if noise_sd is None else noise_sd**2,
        kernel=jax.random.randint(next(keys), batch, 0, len(prior.kernels)),
        modulated=jax.random.uniform(next(keys), batch) < prior.modulated,
        centre=dist.Uniform(0, 1).sample(next(keys), each),
        radius=RADIUS.sample(next(keys), batch),
        warped=jax.random.uniform(next(keys), batch) < prior.warped,
        shape_a=SHAPE.sample(next(keys), each),
        shape_b=SHAPE.sample(next(keys), each),
        frequency=jnp.where(
            jax.random.uniform(next(keys), batch) < prior.oscillating,
            dist.Uniform(0, 2 * jnp.pi * CYCLES / dim).sample(next(keys), each),
            0.0,
        ),
    )
