"""What training minimises: one function per objective, one registry.

Each takes a key for whatever it draws itself, the prior, the simulated experiments and the policy's
trajectories, and returns one loss per simulation. The paper maximises; alx minimises the negative. All know
the theta of the simulation.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from alx.gp import algebra as gp
from alx.network.layers import dense
from alx.train import covariance as kernels
from alx.train import functions
from alx.train.functions import Function
from alx.train.posterior import gram
from alx.train.prior import Prior
from alx.train.rollout import Trajectory
from alx.train.simulate import Simulation

__all__ = ["CONTRASTIVE", "OBJECTIVES", "Objective"]

Objective = Callable[[Array, Prior, Simulation, Trajectory], Array]

CONTRASTIVE = 1023  # functions that `dad` tells the true one from; its bound is at most log 1024


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


OBJECTIVES: dict[str, Objective] = {
    "entropy": entropy,
    "regularized-entropy": regularized_entropy,
    "entropy-v2": entropy_v2,
    "regularized-entropy-v2": regularized_entropy_v2,
    "dad": dad,
}
