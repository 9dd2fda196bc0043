"""Simulated functions on which ways to query are compared, all with the same first point and noise.

The score is the RMSE of the GP posterior with the true theta, so that only the queries matter. Selection of
policies uses these and never the benchmark tasks.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.stats import qmc

from alx.network.policy import Params, PolicyConfig
from alx.train import rollout, simulate
from alx.train.functions import evaluate
from alx.train.posterior import posterior
from alx.train.prior import Prior
from alx.train.rollout import Trajectory
from alx.train.simulate import Batch, Simulation

__all__ = [
    "Functions",
    "draw_functions",
    "greedy_queries",
    "measure",
    "policy_queries",
    "random_queries",
    "rmse",
    "sobol_queries",
    "truth",
]

N_TEST = {1: 200, 2: 400}
N_CANDIDATES = 1000


class Functions(NamedTuple):
    """Experiments on the trailing axis, with the points at which they are scored."""

    prior: Prior
    config: PolicyConfig
    experiment: Simulation
    test: Array  # [D, m, 1]


def draw_functions(prior: Prior, config: PolicyConfig, functions: int, seed: int) -> Functions:
    """The functions of the comparison."""
    key_kernel, key = jax.random.split(jax.random.fold_in(jax.random.key(seed), 77))
    experiment = simulate.simulate(key_kernel, key, prior, config, Batch(functions))
    m = N_TEST.get(config.dim, 600)
    test = qmc.Sobol(config.dim, rng=1).random(1 << (m - 1).bit_length())[:m]
    return Functions(prior, config, experiment, jnp.asarray(test.T, float)[..., None])


def rmse(problem: Functions, queries: Array) -> Array:
    """RMSE ``[B]`` of the posterior mean after measuring at ``queries [D, T, B]``."""
    prior, _, experiment, test = problem
    mean = posterior(prior, experiment.theta, measure(problem, queries), test)[0]
    return jnp.sqrt(jnp.square(mean - truth(problem)).mean(0))


def measure(problem: Functions, queries: Array) -> Trajectory:
    """The given points and those at ``queries [D, T, B]``, with their outputs."""
    prior, config, experiment, _ = problem
    x = jnp.concatenate([experiment.x[:, : config.n_init], queries], axis=1)
    y = simulate.observe(prior, experiment, x, experiment.noise)
    return Trajectory(x, y, jnp.ones((x.shape[1], 1), bool), config.T)


def truth(problem: Functions) -> Array:
    """f ``[m, B]`` where the functions are scored."""
    return evaluate(problem.prior, problem.experiment.theta, problem.experiment.function, problem.test)


def policy_queries(problem: Functions, params: Params, config: PolicyConfig, blind: bool = False) -> Array:
    """What a policy asks; blind, it is told y = 0."""
    prior, _, experiment, _ = problem
    if blind:
        silent = experiment.function._replace(
            weights=jnp.zeros_like(experiment.function.weights), mean=jnp.zeros_like(experiment.function.mean)
        )
        experiment = experiment._replace(function=silent, noise=jnp.zeros_like(experiment.noise))
    return rollout.nonmyopic(params, config, prior, experiment).x[:, config.n_init :]


def random_queries(problem: Functions) -> Array:
    """Uniform inputs."""
    return problem.experiment.x[:, problem.config.n_init :]


def sobol_queries(problem: Functions) -> Array:
    """A scrambled Sobol design, another scramble for each function."""
    dim, T = problem.config.dim, problem.config.T
    size = 1 << max(T - 1, 1).bit_length()
    functions = problem.experiment.noise.shape[-1]
    designs = [qmc.Sobol(dim, rng=i).random(size)[:T].T for i in range(functions)]
    return jnp.asarray(np.stack(designs, -1), float)


def greedy_queries(problem: Functions) -> Array:
    """GP AL that knows theta: always the candidate with the largest posterior variance."""
    prior, config, experiment, _ = problem
    theta, given = experiment.theta, experiment.x[:, : config.n_init]
    candidates = qmc.Sobol(config.dim, rng=2).random(1 << (N_CANDIDATES - 1).bit_length())[:N_CANDIDATES]
    candidates = jnp.asarray(candidates.T, float)[..., None]
    functions = experiment.noise.shape[-1]

    x = jnp.concatenate([given, jnp.zeros((config.dim, config.T, functions))], axis=1)

    def step(x, count):
        mask = (jnp.arange(config.capacity) < count)[:, None]
        trajectory = Trajectory(x, jnp.zeros(x.shape[1:]), mask, 1)
        variance = posterior(prior, theta, trajectory, candidates)[1]
        best = jnp.argmax(variance, axis=0)
        new = candidates[:, best, 0]
        return jax.lax.dynamic_update_slice_in_dim(x, new[:, None], count, axis=1), None

    x, _ = jax.lax.scan(step, x, config.n_init + jnp.arange(config.T))
    return x[:, config.n_init :]
