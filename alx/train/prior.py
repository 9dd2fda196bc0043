"""p(theta): the prior over kernels and noise, the kernels' covariance and their spectral density.

As everywhere in alx, arrays lead with what one experiment has and trail with experiments.

A kernel is k(x, x') = s(x) k0(w(x), w(x')) s(x') with a stationary ARD kernel k0. In the paper s = 1 and
w(x) = x. The `nonstationary` prior makes functions that are not the same everywhere: s is a bump, so that
the amplitude varies over the domain, and w the cdf of a Kumaraswamy distribution per input, so that the
lengthscale does. The `broad` prior covers the others and adds oscillations, as in seasons and resonances: its
k0 may carry a factor cos(f . (x - x')). The `unit` prior, the default of training, is `broad` with functions
of unit variance over the domain, as outputs have when they are standardised.
"""

import dataclasses
import functools
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax import Array

from alx.network.layers import total

__all__ = ["KERNELS", "PRIORS", "Kernel", "Prior", "Theta", "covariance", "sample", "spectrum", "variance"]

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


def amplitude(prior: Prior, theta: Theta, x: Array) -> Array:
    """s(x) of ``x [D, n, ...]``: 0.08 + 0.5 exp(-|x-c|^2 / 2r^2) / (0.3 + r) where modulated, else 1."""
    if prior.modulated == 0:
        return jnp.ones(())
    distance = jnp.square(x - theta.centre[:, None]).sum(0)
    bump = 0.08 + 0.5 * jnp.exp(-0.5 * distance / theta.radius**2) / (0.3 + theta.radius)
    return jnp.where(theta.modulated, bump, 1.0)


def warp(prior: Prior, theta: Theta, x: Array) -> Array:
    """w(x) of ``x [D, n, ...]``: 1 - (1 - x^a)^b per input where warped, else x."""
    if prior.warped == 0:
        return x
    # The slope is infinite on the border for a < 1 or b < 1, which no gradient survives.
    inner = jnp.clip(x, 1e-4, 1 - 1e-4)
    kumaraswamy = 1 - (1 - inner ** theta.shape_a[:, None]) ** theta.shape_b[:, None]
    return jnp.where(theta.warped, kumaraswamy, x)


def _correlation(kernel: Kernel, square: Array) -> Array:
    """Correlation at a scaled squared distance."""
    if kernel == "rbf":
        return jnp.exp(-0.5 * square)
    # sqrt has no slope at 0; the correlation there is flat.
    r = jnp.sqrt(jnp.maximum(square, 1e-12)) * (3 if kernel == "matern32" else 5) ** 0.5
    return jnp.exp(-r) * (1 + r if kernel == "matern32" else 1 + r + r**2 / 3)


@jax.custom_vjp
def _apart(a: Array, b: Array) -> Array:
    """a_i - b_j of ``a [n, ...]``, ``b [m, ...]`` -> ``[n, m, ...]``."""
    return a[:, None] - b[None]


def _apart_backward(_, g):
    return g.sum(1), -total(g)


_apart.defvjp(lambda a, b: (_apart(a, b), None), _apart_backward)


def covariance(prior: Prior, theta: Theta, x: Array, z: Array) -> Array:
    """k(x, z): ``x [D, n, ...]``, ``z [D, m, ...]`` -> ``[n, m, ...]``."""
    # As divisions, which XLA never computes again for each pair of points.
    warped_x, warped_z = warp(prior, theta, x), warp(prior, theta, z)
    u, w = warped_x / theta.lengthscale[:, None], warped_z / theta.lengthscale[:, None]
    batch = jnp.broadcast_shapes(u.shape[2:], w.shape[2:])
    u, w = (jnp.broadcast_to(a, a.shape[:2] + batch) for a in (u, w))
    square = functools.reduce(jnp.add, (jnp.square(_apart(a, b)) for a, b in zip(u, w, strict=True)))
    k = _correlation(prior.kernels[0], square)
    for index, kernel in enumerate(prior.kernels[1:], 1):
        k = jnp.where(theta.kernel == index, _correlation(kernel, square), k)
    if prior.oscillating:
        phase_x, phase_z = (jnp.einsum("d...,dn...->n...", theta.frequency, a) for a in (warped_x, warped_z))
        k = k * jnp.cos(phase_x[:, None] - phase_z[None])
    if prior.modulated:
        k = k * amplitude(prior, theta, x)[:, None] * amplitude(prior, theta, z)[None]
    return theta.variance * k


def variance(prior: Prior, theta: Theta, x: Array) -> Array:
    """k(x, x) of each of the points ``x [D, n, ...]`` -> ``[n, ...]``."""
    return theta.variance * jnp.square(amplitude(prior, theta, x)) * jnp.ones_like(x[0])


def spectrum(key: Array, prior: Prior, theta: Theta, features: int) -> Array:
    """Draw ``features`` frequencies ``[features, D, ...]`` from the spectral density of k0.

    RBF: N(0, diag(1/l^2)). Matern nu: multivariate t with 2 nu degrees of freedom, a normal vector
    divided by sqrt(u / 2 nu), u ~ chi2(2 nu), with one u for all inputs of a feature. An oscillation
    shifts it.
    """
    key_normal, key_chi2 = jax.random.split(key)
    batch = theta.variance.shape
    a = jax.random.normal(key_normal, (features, *theta.lengthscale.shape)) / theta.lengthscale
    if prior.kernels != ("rbf",):
        # chi2 of 3 and of 5 degrees of freedom as sums of squares: far cheaper than a gamma sampler.
        squares = jnp.square(jax.random.normal(key_chi2, (5, features, *batch)))
        for index, kernel in enumerate(prior.kernels):
            if kernel != "rbf":
                dof = 3 if kernel == "matern32" else 5
                t = a * jnp.sqrt(dof / sum(squares[i] for i in range(dof)))[:, None]
                a = jnp.where(theta.kernel == index, t, a)
    return a + theta.frequency if prior.oscillating else a
