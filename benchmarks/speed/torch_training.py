"""The paper's training step in plain PyTorch, on `torch_twin`: the yardstick for training speed.

Written as a PyTorch user would write it who cares for speed: batch first, every experiment of a chunk at
once, histories of just the points there are, each point encoded once, one Cholesky of the grid per kernel,
gradients accumulated over chunks. The formulas are those of `alx`: on the same random numbers the losses
are equal.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from alx.train import simulate
from alx.train.functions import Function
from alx.train.simulate import Batch
from benchmarks.speed.torch_twin import Twin

__all__ = ["Simulation", "draw", "from_alx", "loss", "train_step"]

FEATURES, N_GRID = 100, 100


@dataclass
class Simulation:
    """What is random in ``E = K x R`` experiments, K kernels with R experiments each."""

    variance: Tensor  # [K]
    lengthscale: Tensor  # [K, D]
    noise_variance: Tensor  # [K]
    weights: Tensor  # [E, L], with the amplitude sqrt(2 / L)
    frequencies: Tensor  # [E, L, D]
    phases: Tensor  # [E, L]
    mean: Tensor  # [E]
    x: Tensor  # [E, n_init, D]
    noise: Tensor  # [E, n_init + T]
    grid: Tensor  # [K, N_grid, D]
    noise_grid: Tensor  # [E, N_grid]

    def f(self, x: Tensor) -> Tensor:
        """f at ``x [E, n, D]`` -> ``[E, n]``."""
        angle = torch.baddbmm(self.phases[:, None], x, self.frequencies.transpose(1, 2))
        return torch.cos(angle).matmul(self.weights[..., None])[..., 0] - self.mean[:, None]

    def covariance(self, x: Tensor, z: Tensor) -> Tensor:
        """k at ``x [K, R, n, D]``, ``z [K, R, m, D]`` -> ``[K, R, n, m]``; R may be 1."""
        scale = self.lengthscale[:, None, None]
        square = torch.cdist(x / scale, z / scale, compute_mode="donot_use_mm_for_euclid_dist").square()
        return self.variance[:, None, None, None] * torch.exp(-0.5 * square)


def draw(batch: Batch, dim: int, T: int, n_init: int = 1) -> Simulation:
    """Draw from the paper's prior."""
    kernels, functions, noises = batch
    variance = 0.505 + 0.495 * torch.rand(kernels)
    lengthscale = 0.05 + 0.95 * torch.rand(kernels, dim)
    per_function = (kernels, functions, FEATURES)
    weights = torch.randn(per_function) * (2 / FEATURES * variance).sqrt()[:, None, None]
    frequencies = torch.randn(*per_function, dim) / lengthscale[:, None, None]
    phases = 2 * math.pi * torch.rand(per_function)
    # sin(z) / z = torch.sinc(z / pi)
    window = torch.cos(phases + frequencies.sum(-1) / 2) * torch.sinc(frequencies / (2 * math.pi)).prod(-1)
    sd = (1.01 - variance).sqrt().repeat_interleave(functions * noises)[:, None]

    def repeat(a: Tensor) -> Tensor:
        return a.flatten(0, 1).repeat_interleave(noises, dim=0)

    return Simulation(
        variance,
        lengthscale,
        1.01 - variance,
        repeat(weights),
        repeat(frequencies),
        repeat(phases),
        repeat((weights * window).sum(-1)),
        torch.rand(batch.experiments, n_init, dim),
        sd * torch.randn(batch.experiments, n_init + T),
        torch.rand(kernels, N_GRID, dim),
        sd * torch.randn(batch.experiments, N_GRID),
    )


def from_alx(experiment: simulate.Simulation, n_init: int) -> Simulation:
    """The same experiments that alx drew."""
    theta, function = experiment.theta, experiment.function
    assert isinstance(function, Function)
    every = experiment.noise.shape[1] // experiment.grid.shape[2]

    def batch_first(a) -> Tensor:
        return torch.from_numpy(np.moveaxis(np.asarray(a, np.float32), -1, 0).copy())

    return Simulation(
        batch_first(theta.variance[::every]),
        batch_first(theta.lengthscale[:, ::every]),
        batch_first(theta.noise[::every]),
        batch_first(function.weights),
        batch_first(function.frequencies),
        batch_first(function.phases),
        batch_first(function.mean),
        batch_first(experiment.x[:, :n_init]).transpose(1, 2),
        batch_first(experiment.noise),
        batch_first(experiment.grid).transpose(1, 2),
        batch_first(experiment.noise_grid),
    )


def rollout(twin: Twin, simulation: Simulation) -> tuple[Tensor, Tensor]:
    """Let the policy make all its queries: ``x [E, n, D]``, ``y [E, n]``."""
    noise = simulation.noise
    n_init = simulation.x.shape[1]
    x = simulation.x
    y = simulation.f(x) + noise[:, :n_init]
    tokens = twin.encoder(torch.cat([x, y[..., None]], -1))
    for n in range(n_init, noise.shape[1]):
        pooled = twin.mix(twin.blocks(tokens)).sum(1)
        x_new = ((torch.tanh(twin.decoder(pooled)) + 1) / 2)[:, None]
        y_new = simulation.f(x_new) + noise[:, n : n + 1]
        tokens = torch.cat([tokens, twin.encoder(torch.cat([x_new, y_new[..., None]], -1))], 1)
        x, y = torch.cat([x, x_new], 1), torch.cat([y, y_new], 1)
    return x, y


def loss(twin: Twin, simulation: Simulation, objective: str) -> Tensor:
    """Mean loss of ``entropy`` or ``regularized-entropy``."""
    x, y = rollout(twin, simulation)
    n_init, kernels = simulation.x.shape[1], simulation.variance.shape[0]
    x, y = x.unflatten(0, (kernels, -1)), y.unflatten(0, (kernels, -1))[..., None]
    noise = simulation.noise_variance[:, None, None, None]
    covariance = simulation.covariance(x, x) + noise * torch.eye(x.shape[2])
    value = _log_density(covariance, y, n_init)
    if objective == "entropy":
        return value.mean()
    grid = simulation.grid[:, None]
    root = torch.linalg.cholesky(simulation.covariance(grid, grid) + noise * torch.eye(N_GRID))
    per_experiment = simulation.grid.repeat_interleave(x.shape[1], 0)
    y_grid = (simulation.f(per_experiment) + simulation.noise_grid).unflatten(0, (kernels, -1))[..., None]
    both = torch.cat([simulation.covariance(grid, x), y_grid], -1)
    # Side by side, the experiments of a kernel are one triangular solve.
    flat = both.transpose(1, 2).flatten(2)
    white = torch.linalg.solve_triangular(root[:, 0], flat, upper=False).unflatten(2, both.shape[1::2])
    cross, y_grid = white.transpose(1, 2).split([x.shape[2], 1], -1)
    covariance, residual = covariance - cross.mT @ cross, y - cross.mT @ y_grid
    return (value - _log_density(covariance, residual, n_init)).mean()


def _log_density(covariance: Tensor, y: Tensor, n_init: int) -> Tensor:
    """log p(y_1 .. y_T given Y_init) of ``y [K, R, n, 1]``."""
    root = torch.linalg.cholesky(covariance)
    white = torch.linalg.solve_triangular(root, y, upper=False)[..., 0]
    pivots = root.diagonal(dim1=-2, dim2=-1)
    terms = -0.5 * math.log(2 * math.pi) - pivots.log() - 0.5 * white.square()
    return terms[..., n_init:].sum(-1)


def train_step(
    twin: Twin, optimizer: torch.optim.Optimizer, batch: Batch, dim: int, T: int, objective: str, chunk: Batch
) -> float:
    """Simulate a batch in chunks, accumulate the gradient, clip it and update the weights."""
    number = batch.experiments // chunk.experiments
    optimizer.zero_grad()
    total = 0.0
    for _ in range(number):
        value = loss(twin, draw(chunk, dim, T), objective) / number
        value.backward()
        total += value.item()
    torch.nn.utils.clip_grad_norm_(twin.parameters(), 1.0)
    optimizer.step()
    return total
