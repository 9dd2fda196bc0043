"""p(theta): the prior over kernels and noise.

As everywhere in alx, arrays lead with what one experiment has and trail with experiments.

A kernel is k(x, x') = s(x) k0(w(x), w(x')) s(x') with a stationary ARD kernel k0. In the paper s = 1 and
w(x) = x. The `nonstationary` prior makes functions that are not the same everywhere: s is a bump, so that
the amplitude varies over the domain, and w the cdf of a Kumaraswamy distribution per input, so that the
lengthscale does. The `broad` prior covers the others and adds oscillations, as in seasons and resonances: its
k0 may carry a factor cos(f . (x - x')). The `unit` prior, the default of training, is `broad` with functions
of unit variance over the domain, as outputs have when they are standardised.
"""

import dataclasses
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax import Array

__all__ = ["KERNELS", "PRIORS", "Kernel", "Prior", "Theta", "sample"]

Kernel = Literal["rbf", "matern32", "matern52"]
KERNELS: tuple[Kernel, ...] = get_args(Kernel)
Range = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Prior:
    """Ranges of the prior; the defaults are the paper's.

    Attributes:
        kernels: stationary kernels, drawn with equal chances.
        variance: range of the signal variance v, uniform.
        lengthscale: range of each lengthscale, uniform, or log-uniform where `log_lengthscale`.
        noise_sd: range of the noise standard deviation, log-uniform; None: s2 = 1.01 - v as in the paper.
        modulated: share of functions with an amplitude that varies over the domain.
        warped: share of functions with warped inputs.
        oscillating: share of functions that oscillate.
        standardised: whether functions are scaled to unit variance over the domain. A draw of a smooth kernel
            varies less than its signal variance says, and drowns in noise that a smooth function of a user,
            standardised, does not have.
    """

    kernels: tuple[Kernel, ...] = ("rbf",)
    variance: Range = (0.505, 1.0)
    lengthscale: Range = (0.05, 1.0)
    log_lengthscale: bool = False
    noise_sd: Range | None = None
    modulated: float = 0.0
    warped: float = 0.0
    oscillating: float = 0.0
    standardised: bool = False

    def __post_init__(self):
        if not self.kernels or any(kernel not in KERNELS for kernel in self.kernels):
            raise ValueError(f"kernels must be some of {', '.join(KERNELS)}, got {self.kernels}")
        for name in ("variance", "lengthscale", "noise_sd"):
            bounds = getattr(self, name)
            if bounds is not None and not (len(bounds) == 2 and 0 < bounds[0] <= bounds[1] < float("inf")):
                raise ValueError(f"{name} must be a range LOW HIGH with 0 < LOW <= HIGH, got {bounds}")
        if self.noise_sd is None and self.variance[1] > 1.0:
            raise ValueError(
                f"variance must stay at or below 1 while the noise is 1.01 - variance, got {self.variance}"
            )
        for name in ("modulated", "warped", "oscillating"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be a share between 0 and 1, got {getattr(self, name)}")


_WIDE = Prior(
    kernels=KERNELS, variance=(0.9, 1.0), lengthscale=(0.08, 3.0), log_lengthscale=True, noise_sd=(0.03, 0.3)
)
PRIORS: dict[str, Prior] = {
    "paper": Prior(),
    "wide": _WIDE,
    "nonstationary": dataclasses.replace(_WIDE, noise_sd=(0.02, 0.05), modulated=0.75, warped=0.5),
    "broad": Prior(
        kernels=KERNELS,
        variance=(0.5, 2.0),
        lengthscale=(0.05, 2.0),
        log_lengthscale=True,
        noise_sd=(0.03, 0.7),
        modulated=0.5,
        warped=0.4,
        oscillating=0.3,
    ),
}
PRIORS["unit"] = dataclasses.replace(PRIORS["broad"], standardised=True)
CYCLES = 4.0  # over the domain, at most, in all inputs together: what a budget of some tens can resolve


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

    def uniform(bounds: Range, shape=batch, log: bool = False) -> Array:
        return (dist.LogUniform if log else dist.Uniform)(*bounds).sample(next(keys), shape)

    each = (dim, *batch)
    v = uniform(prior.variance)
    noise_sd = None if prior.noise_sd is None else uniform(prior.noise_sd, log=True)
    return Theta(
        variance=v,
        lengthscale=uniform(prior.lengthscale, each, prior.log_lengthscale),
        noise=1.01 - v if noise_sd is None else noise_sd**2,
        kernel=jax.random.randint(next(keys), batch, 0, len(prior.kernels)),
        modulated=jax.random.uniform(next(keys), batch) < prior.modulated,
        centre=uniform((0, 1), each),
        radius=uniform((0.12, 0.5)),
        warped=jax.random.uniform(next(keys), batch) < prior.warped,
        shape_a=uniform((0.5, 2), each, log=True),
        shape_b=uniform((0.5, 2), each, log=True),
        frequency=jnp.where(
            jax.random.uniform(next(keys), batch) < prior.oscillating,
            uniform((0, 2 * jnp.pi * CYCLES / dim), each),
            0.0,
        ),
    )
