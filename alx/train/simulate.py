"""Simulated experiments: all that is random in them but the policy's choices, drawn from the prior.

Simulations are the trailing axis of every array. A batch has the paper's three levels, kernels x functions
per kernel x noise draws per function; experiments of one kernel are neighbours on the axis.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from alx.network.policy import PolicyConfig
from alx.train import functions
from alx.train.functions import Function
from alx.train.interpolate import Interpolant
from alx.train.prior import Prior, Theta, sample

__all__ = ["N_GRID", "Batch", "Simulation", "broadcast_shared", "draw_shared", "observe", "simulate", "take"]

N_GRID = 100  # as in the paper
SMALLEST_SPREAD = 0.15  # of a function beside its kernel's, for float32 to invert its covariance


class Batch(NamedTuple):
    """How many kernels, functions per kernel and noise draws per function are simulated together."""

    kernels: int
    functions: int = 1
    noises: int = 1

    @property
    def experiments(self) -> int:
        return self.kernels * self.functions * self.noises


class Simulation(NamedTuple):
    """All that is random in an experiment but the policy's choices.

    Attributes:
        theta: kernel and noise variance.
        function: the unknown f.
        x: inputs for given points, ``[D, capacity, ...]``.
        noise: e of each observation, ``[capacity, ...]``.
        grid: resampled grid inputs, shared by the experiments of a kernel, ``[D, N_grid, kernels]``.
        f_grid: f at the grid, ``[N_grid, ...]``.
        noise_grid: e of each grid observation, ``[N_grid, ...]``.
    """

    theta: Theta
    function: Function | Interpolant
    x: Array
    noise: Array
    grid: Array
    f_grid: Array
    noise_grid: Array


def simulate(
    key_kernel: Array, key: Array, prior: Prior, config: PolicyConfig, batch: Batch, n_grid: int = N_GRID
) -> Simulation:
    """Draw a batch of experiments; the kernels and their grids depend on `key_kernel` alone."""
    return broadcast_shared(draw_shared(key_kernel, key, prior, config, batch, n_grid))


def draw_shared(
    key_kernel: Array, key: Array, prior: Prior, config: PolicyConfig, batch: Batch, n_grid: int = N_GRID
) -> Simulation:
    """As `simulate`, but what experiments share is there once: the trailing axis of theta are kernels, of
    `function` and `f_grid` functions, of the rest experiments."""
    key_theta, key_grid = jax.random.split(key_kernel)
    key_function, key_x, key_noise, key_noise_grid = jax.random.split(key, 4)
    theta = sample(key_theta, prior, config.dim, (batch.kernels,))
    grid = jax.random.uniform(key_grid, (config.dim, n_grid, batch.kernels))
    theta_f, grid_f = _repeat((theta, grid), batch.functions)
    function = functions.draw_function(key_function, prior, theta_f)
    # With the points of the grid last, for there are more of them than functions.
    theta_g, function_g = jax.tree.map(lambda a: a[..., None], (theta_f, function))
    f_grid = functions.evaluate(prior, theta_g, function_g, grid_f.swapaxes(1, 2)[:, None])[0].T
    if prior.standardised:
        theta, function, f_grid = _standardise(theta, function, f_grid)
    n = batch.experiments
    sd = _repeat(jnp.sqrt(theta.noise), batch.functions * batch.noises)
    return Simulation(
        theta=theta,
        function=function,
        x=jax.random.uniform(key_x, (config.dim, config.capacity, n)),
        noise=sd * jax.random.normal(key_noise, (config.capacity, n)),
        grid=grid,
        f_grid=f_grid,
        noise_grid=sd * jax.random.normal(key_noise_grid, (n_grid, n)),
    )


def broadcast_shared(drawn: Simulation) -> Simulation:
    """Give each experiment what it shares with others; only the grid stays that of the kernel."""
    n = drawn.noise.shape[-1]
    each = jax.tree.map(lambda a: _repeat(a, n // a.shape[-1]), drawn._replace(grid=None))
    return each._replace(grid=drawn.grid)


def _standardise(
    theta: Theta, function: Function | Interpolant, f_grid: Array
) -> tuple[Theta, Function | Interpolant, Array]:
    """Scale the functions of each kernel together, and its signal variance with them, to variance one."""
    by_kernel = f_grid.reshape(f_grid.shape[0], theta.variance.shape[-1], -1)
    scale = jnp.sqrt(jnp.square(by_kernel).mean((0, 2)))
    scale = jnp.maximum(scale, SMALLEST_SPREAD * jnp.sqrt(theta.variance))
    each = jnp.repeat(scale, by_kernel.shape[2])
    function = function._replace(weights=function.weights / each, mean=function.mean / each)
    return theta._replace(variance=theta.variance / scale**2), function, f_grid / each


def take(drawn: Simulation, start: Array, size: int) -> Simulation:
    """Some of the experiments, which must share one kernel unless they are all."""
    each = broadcast_shared(drawn)._replace(grid=None)
    taken = jax.tree.map(lambda a: jax.lax.dynamic_slice_in_dim(a, start, size, axis=-1), each)
    return taken._replace(grid=drawn.grid)


def _repeat(tree, times: int):
    return jax.tree.map(lambda a: jnp.repeat(a, times, axis=-1), tree) if times > 1 else tree


def observe(prior: Prior, simulation: Simulation, x: Array, noise: Array) -> Array:
    """y = f(x) + e of ``x [D, n, ...]``."""
    return functions.evaluate(prior, simulation.theta, simulation.function, x) + noise
