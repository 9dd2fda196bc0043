"""Experiments drawn with NumPy, which compiles nothing, in the shapes that alx simulates."""

import dense
import numpy as np
import numpyro.distributions as dist

from alx.network.policy import PolicyConfig
from alx.train.functions import FEATURES, Function
from alx.train.prior import Prior, Theta
from alx.train.rollout import Trajectory
from alx.train.simulate import Batch, Simulation


def ends(distribution) -> tuple[float, float]:
    """Of the range of a uniform distribution, on whatever scale, or of a single value."""
    if isinstance(distribution, dist.Delta):
        return distribution.v, distribution.v
    return distribution.low, distribution.high


def thetas(prior: Prior, dim: int, batch: tuple[int, ...] = (), seed: int = 0) -> Theta:
    rng = np.random.default_rng([seed, 1])
    v = rng.uniform(*ends(prior.variance), batch)
    noise = 1.01 - v if prior.noise_sd is None else rng.uniform(*ends(prior.noise_sd), batch) ** 2
    each = (dim, *batch)
    return Theta(
        variance=np.float32(v),
        lengthscale=np.float32(rng.uniform(0.2, 1.0, each)),
        noise=np.float32(noise),
        kernel=(np.arange(v.size) % len(prior.kernels)).reshape(batch),
        modulated=rng.random(batch) < prior.modulated,
        centre=np.float32(rng.random(each)),
        radius=np.float32(rng.uniform(0.2, 0.5, batch)),
        warped=rng.random(batch) < prior.warped,
        shape_a=np.float32(rng.uniform(0.5, 2, each)),
        shape_b=np.float32(rng.uniform(0.5, 2, each)),
        frequency=np.float32(rng.uniform(0, 8, each) * (rng.random(batch) < prior.oscillating)),
    )


def functions(theta: Theta, seed: int = 0) -> Function:
    rng = np.random.default_rng([seed, 2])
    shape = (FEATURES, *np.shape(theta.variance))
    a = np.float32(rng.normal(size=(FEATURES, *np.shape(theta.lengthscale))) / theta.lengthscale)
    b = np.float32(rng.uniform(0, 2 * np.pi, shape))
    w = np.float32(rng.normal(size=shape) * np.sqrt(2 / FEATURES * theta.variance))
    mean = (w * np.cos(b + a.sum(1) / 2) * np.sinc(a / 2 / np.pi).prod(1)).sum(0)
    return Function(w, a, b, np.float32(mean))


def experiments(prior: Prior, config: PolicyConfig, batch: Batch, n_grid=40, seed=0) -> Simulation:
    rng = np.random.default_rng([seed, 3])
    per_kernel, n = batch.functions * batch.noises, batch.experiments
    theta = Theta(*(a.repeat(per_kernel, -1) for a in thetas(prior, config.dim, (batch.kernels,), seed)))
    sd, function = np.sqrt(theta.noise), functions(theta, seed)
    x = np.float32(rng.random((config.dim, config.capacity, n)))
    noise = np.float32(sd * rng.normal(size=(config.capacity, n)))
    grid = np.float32(rng.random((config.dim, n_grid, batch.kernels)))
    f_grid = [
        dense.evaluate(prior, dense.pick(theta, i), dense.pick(function, i), grid[..., i // per_kernel].T)
        for i in range(n)
    ]
    return Simulation(
        theta,
        function,
        x,
        noise,
        grid,
        f_grid=np.float32(f_grid).T,
        noise_grid=np.float32(sd * rng.normal(size=(n_grid, n))),
    )


def trajectories(config: PolicyConfig, experiment: Simulation, seed: int = 0) -> Trajectory:
    """Random points, and outputs that need not come from the function."""
    rng = np.random.default_rng([seed, 4])
    n = experiment.noise.shape[-1]
    x = np.float32(rng.random((config.dim, config.capacity, n)))
    y = np.float32(rng.normal(size=x.shape[1:]))
    return Trajectory(x, y, np.ones((config.capacity, 1), bool), config.T)
