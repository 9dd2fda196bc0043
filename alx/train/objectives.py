"""What training minimises: one function per objective, one registry.

Each takes a key for whatever it draws itself, the prior, the simulated experiments and the policy's
trajectories, and returns one loss per simulation. The paper maximises; alx minimises the negative. All
but `predictive` and `refitted-error` know the theta of the simulation.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax import Array

from alx.gp import algebra as gp
from alx.network.layers import dense
from alx.train import functions, kernels
from alx.train.functions import Function
from alx.train.posterior import gram, posterior
from alx.train.prior import LogUniform, Prior, sample
from alx.train.refit import fitted_mean
from alx.train.rollout import Trajectory
from alx.train.simulate import Simulation

__all__ = ["CONTRASTIVE", "OBJECTIVES", "Objective"]

Objective = Callable[[Array, Prior, Simulation, Trajectory], Array]

CONTRASTIVE = 1023  # functions that `dad` tells the true one from
MIXTURE = 32  # draws of theta that stand for the unknown one
HELD_OUT = 32  # grid points at which a posterior with theta unknown is scored
# What a user may find when fitting. With less noise than this, float32 would not tell the kernels apart.
MODEL = Prior(
    variance=dist.Uniform(0.3, 2.0), lengthscale=LogUniform(0.05, 3.0), noise_sd=LogUniform(0.05, 0.7)
)


def _log_density(prior: Prior, simulation: Simulation, trajectory: Trajectory) -> Array:
    """log p(y_1 .. y_T given Y_init)."""
    y = jnp.where(trajectory.mask, trajectory.y, 0)[:, None]
    pivots, whitened = gp.factor(gram(prior, simulation.theta, trajectory), y)
    return gp.log_density(pivots, whitened[:, 0])[-trajectory.T :].sum(0)


def _entropy(pivots: Array, T: int) -> Array:
    """H of the last T observations: 1/2 log det(2 pi e Cov), the pivots being conditional variances."""
    return 0.5 * jnp.log(2 * jnp.pi * jnp.e * pivots[-T:]).sum(0)


def _given_grid(prior: Prior, simulation: Simulation, trajectory: Trajectory) -> tuple[Array, Array]:
    """Cov(y) and y - E(y) of the trajectory given the grid observations.

    The grid is shared by the experiments of a kernel, so its factor is computed once per kernel and
    applied to all of them as one matrix product.
    """
    grid, x = simulation.grid, trajectory.x
    n_grid, n_kernels, experiments = grid.shape[1], grid.shape[2], x.shape[2]
    per_kernel = experiments // n_kernels
    theta = jax.tree.map(lambda a: a[..., ::per_kernel], simulation.theta)
    eye = jnp.eye(n_grid, dtype=x.dtype)[..., None]
    inverse = gp.inverse_factor(kernels.covariance(prior, theta, grid, grid) + theta.noise * eye)
    grid = jnp.repeat(grid, per_kernel, axis=-1)
    cross = kernels.covariance(prior, simulation.theta, grid, x)
    by_kernel = cross.reshape(n_grid, -1, n_kernels, per_kernel)
    cross = jax.vmap(dense, (2, 2), 2)(inverse, by_kernel).reshape(cross.shape)
    y_grid = (simulation.f_grid + simulation.noise_grid).reshape(n_grid, n_kernels, per_kernel)
    y_grid = jnp.einsum("gjk,jkr->gkr", inverse, y_grid).reshape(n_grid, experiments)
    mask = trajectory.mask
    explained = jnp.where(mask[:, None] & mask[None], jnp.einsum("gn...,gm...->nm...", cross, cross), 0)
    residual = jnp.where(mask, trajectory.y - jnp.einsum("gn...,g...->n...", cross, y_grid), 0)
    return gram(prior, simulation.theta, trajectory) - explained, residual


def entropy(key: Array, prior: Prior, simulation: Simulation, trajectory: Trajectory) -> Array:
    """H: log p(y_1 .. y_T given Y_init)."""
    return _log_density(prior, simulation, trajectory)


def regularized_entropy(key: Array, prior: Prior, simulation: Simulation, trajectory: Trajectory) -> Array:
    """I: log p(y_1 .. y_T given Y_init) - log p(y_1 .. y_T given Y_init, Y_grid)."""
    covariance, residual = _given_grid(prior, simulation, trajectory)
    pivots, whitened = gp.factor(covariance, residual[:, None])
    given_grid = gp.log_density(pivots, whitened[:, 0])[-trajectory.T :].sum(0)
    return _log_density(prior, simulation, trajectory) - given_grid


def entropy_v2(key: Array, prior: Prior, simulation: Simulation, trajectory: Trajectory) -> Array:
    """H version 2: the negative entropy of the queries given Y_init, the outputs integrated out."""
    covariance = gram(prior, simulation.theta, trajectory)
    return -_entropy(gp.factor(covariance, covariance[:, :0])[0], trajectory.T)


def regularized_entropy_v2(key: Array, prior: Prior, simulation: Simulation, trajectory: Trajectory) -> Array:
    """I version 2: minus the entropy given Y_init plus the entropy given Y_init and the grid."""
    covariance, _ = _given_grid(prior, simulation, trajectory)
    given_grid = _entropy(gp.factor(covariance, covariance[:, :0])[0], trajectory.T)
    return entropy_v2(key, prior, simulation, trajectory) + given_grid


def integrated_variance(key: Array, prior: Prior, simulation: Simulation, trajectory: Trajectory) -> Array:
    """log of the mean posterior variance of f over the grid after the last query."""
    grid = _grid_per_experiment(simulation)
    return jnp.log(posterior(prior, simulation.theta, trajectory, grid)[1].mean(0))


def _grid_per_experiment(simulation: Simulation) -> Array:
    return jnp.repeat(simulation.grid, simulation.noise.shape[-1] // simulation.grid.shape[-1], axis=-1)


def dad(key: Array, prior: Prior, simulation: Simulation, trajectory: Trajectory) -> Array:
    """Minus the sPCE bound: log mean_{l=0..C} p(h given f_l) - log p(h given f_0).

    The contrastive functions share the frequencies and phases of f_0: given those, all weights are
    exchangeable draws. All experiments share one draw of the standardised weights, so that C functions
    of each are one matrix product. At most log(C + 1).

    They share the shift of f_0, too, so that this bounds the information that `entropy` maximises. Shifted
    by their own means, smooth functions differ most at the borders of the window, and policies that learn
    to query there leave a larger error (docs/notebook/results.md).
    """
    theta, function = simulation.theta, simulation.function
    if not isinstance(function, Function):
        raise ValueError("dad needs the features of alx's own kernels, not those of tinygp")
    x, y = trajectory.x[:, -trajectory.T :], trajectory.y[-trajectory.T :]
    amplitude = kernels.amplitude(prior, theta, x)
    features = amplitude * functions.features(prior, theta, function, x)
    own = (function.weights[:, None] * features).sum(0)
    weights = jax.random.normal(key, (CONTRASTIVE, functions.FEATURES), features.dtype)
    others = dense(weights, jnp.sqrt(2 / functions.FEATURES * theta.variance) * features)
    unshifted = y + amplitude * function.mean
    fits = -0.5 * (jnp.square(unshifted - jnp.concatenate([own[None], others])) / theta.noise).sum(1)
    return jax.nn.logsumexp(fits, axis=0) - jnp.log(CONTRASTIVE + 1) - fits[0]


def predictive(key: Array, prior: Prior, simulation: Simulation, trajectory: Trajectory) -> Array:
    """Minus the mean log density of held-out observations under the posterior with theta unknown.

    The posterior is that of the model a user fits, a stationary RBF kernel: a mixture over draws theta_m of
    `MODEL`, each weighted by its evidence. It rewards covering the domain and telling the lengthscales
    apart, and so gives a reason to react to y.
    """
    draws = sample(key, MODEL, trajectory.x.shape[0], (MIXTURE, trajectory.y.shape[-1]))
    x = _grid_per_experiment(simulation)[:, :HELD_OUT]
    held_out = (simulation.f_grid + simulation.noise_grid)[:HELD_OUT]
    mixed = Trajectory(*(a[..., None, :] for a in trajectory[:3]), T=trajectory.T)
    mean, variance, evidence = posterior(MODEL, draws, mixed, x[..., None, :])
    variance = variance + draws.noise
    log_density = -0.5 * (jnp.log(2 * jnp.pi * variance) + jnp.square(held_out[:, None] - mean) / variance)
    weights = jax.nn.log_softmax(evidence, axis=0)
    return -jax.nn.logsumexp(log_density + weights, axis=1).mean(0)


def refitted_error(key: Array, prior: Prior, simulation: Simulation, trajectory: Trajectory) -> Array:
    """log of the expected squared error over the grid of the mean that a user's own fit predicts.

    Given the data, the error at x is the posterior variance of f, which no fit can get below, plus the
    squared distance of the fit's mean from the posterior's. The fit is that of `alx.train.refit`: this
    rewards covering the domain, and measuring so that noise and lengthscales can be told.
    """
    x = _grid_per_experiment(simulation)[:, :HELD_OUT]
    mean, variance, _ = posterior(prior, simulation.theta, trajectory, x)
    fitted = fitted_mean(key, simulation.theta, trajectory, x)
    return jnp.log((variance + jnp.square(mean - fitted)).mean(0))


OBJECTIVES: dict[str, Objective] = {
    "entropy": entropy,
    "regularized-entropy": regularized_entropy,
    "entropy-v2": entropy_v2,
    "regularized-entropy-v2": regularized_entropy_v2,
    "integrated-variance": integrated_variance,
    "predictive": predictive,
    "refitted-error": refitted_error,
    "dad": dad,
}
