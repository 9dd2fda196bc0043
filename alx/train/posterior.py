"""The posterior of f given a trajectory, under a known theta."""

import jax.numpy as jnp
from jax import Array

from alx.gp import algebra as gp
from alx.train import covariance as kernels
from alx.train.prior import Prior, Theta
from alx.train.rollout import Trajectory

__all__ = ["gram", "posterior"]


def gram(prior: Prior, theta: Theta, trajectory: Trajectory) -> Array:
    """Cov(y) of the trajectory's points; masked points are independent with unit variance."""
    x, mask = trajectory.x, trajectory.mask
    n = x.shape[1]
    eye = jnp.eye(n, dtype=x.dtype).reshape(n, n, *(1,) * (x.ndim - 2))
    covariance = kernels.covariance(prior, theta, x, x) + theta.noise * eye
    return jnp.where(mask[:, None] & mask[None], covariance, eye)


def posterior(prior: Prior, theta: Theta, trajectory: Trajectory, x: Array) -> tuple[Array, Array, Array]:
    """Mean and variance of f at ``x [D, m, ...]`` given the trajectory, and its log evidence."""
    y = jnp.where(trajectory.mask, trajectory.y, 0)[:, None]
    cross = jnp.where(trajectory.mask[:, None], kernels.covariance(prior, theta, trajectory.x, x), 0)
    y = jnp.broadcast_to(y, y.shape[:2] + cross.shape[2:])
    pivots, whitened = gp.factor(gram(prior, theta, trajectory), jnp.concatenate([y, cross], axis=1))
    mean, variance = gp.conditional(whitened[:, 0], whitened[:, 1:], kernels.variance(prior, theta, x))
    evidence = jnp.where(trajectory.mask, gp.log_density(pivots, whitened[:, 0]), 0).sum(0)
    return mean, variance, evidence
