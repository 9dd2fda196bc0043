"""What reacting looks like: python -m benchmarks.studies.active --policy dim2-T20 --out docs

Two figures. `active-curves.png`: RMSE against the number of queries on simulated functions of each prior, for
the policy and for its blind self, which is told y = 0. `active-corners.png`: the same policy on two functions
whose bump is in different corners, with the queries numbered.
"""

import dataclasses
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import numpyro.distributions as dist
import tyro
from jax import Array
from matplotlib.figure import Figure

import alx
from alx.io import cache, provenance
from alx.network import policy
from alx.train import simulate
from alx.train.functions import Function, evaluate
from alx.train.posterior import posterior
from alx.train.prior import PRIORS
from alx.train.rollout import Trajectory
from benchmarks.evaluation.figures import COLOURS, SETTINGS
from benchmarks.studies.simulated import Functions, draw, policy_queries, sobol_queries

SIDE = 61  # points of the drawn functions per input
CORNERS = ((0.2, 0.2), (0.8, 0.8))


def rmse_by_query(problem: Functions, queries: Array) -> np.ndarray:
    """RMSE ``[T + 1, B]`` of the posterior mean with the true theta after 0 to T queries."""
    prior, config, experiment, test = problem
    x = jnp.concatenate([experiment.x[:, : config.n_init], queries], axis=1)
    y = simulate.observe(prior, experiment, x, experiment.noise)
    truth = evaluate(prior, experiment.theta, experiment.function, test)

    def after(count: Array) -> Array:
        mask = (jnp.arange(config.capacity) < count)[:, None]
        mean = posterior(prior, experiment.theta, Trajectory(x, y, mask, 1), test)[0]
        return jnp.sqrt(jnp.square(mean - truth).mean(0))

    return np.asarray(jax.lax.map(after, jnp.arange(config.n_init, config.capacity + 1)))


def curves(loaded: policy.Policy, functions: int, seed: int) -> Figure:
    """The policy and its blind self, a panel per prior."""
    names = ("paper", "wide", "nonstationary")
    figure, axes = plt.subplots(1, len(names), figsize=(9, 3.2))
    for axis, name in zip(axes, names, strict=True):
        problem = draw(PRIORS[name], loaded.config, functions, seed)
        ways = {
            "alx": policy_queries(problem, loaded.params, loaded.config),
            "blind": policy_queries(problem, loaded.params, loaded.config, blind=True),
            "sobol": sobol_queries(problem),
        }
        for way, queries in ways.items():
            values = rmse_by_query(problem, queries)
            mean, error = values.mean(1), values.std(1, ddof=1) / functions**0.5
            steps = np.arange(len(mean))
            axis.plot(steps, mean, color=COLOURS[way], label={"alx": "policy"}.get(way, way))
            axis.fill_between(steps, mean - error, mean + error, color=COLOURS[way], alpha=0.2, linewidth=0)
        axis.set(title=name, xlabel="queries", yscale="log")
        for scale in (axis.yaxis.set_major_formatter, axis.yaxis.set_minor_formatter):
            scale("{x:g}")
    axes[0].set_ylabel("RMSE, theta known")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def corners(loaded: policy.Policy, seed: int) -> Figure:
    """One function each with its bump in either corner, all else the same."""
    prior = dataclasses.replace(
        PRIORS["nonstationary"], modulated=1.0, warped=0.0, lengthscale=dist.Delta(0.2)
    )
    problem = draw(prior, loaded.config, 2, seed)
    theta = problem.experiment.theta._replace(
        centre=jnp.asarray(CORNERS).T, radius=jnp.full(2, 0.2), kernel=jnp.zeros(2, int)
    )
    experiment = problem.experiment._replace(
        theta=theta,
        function=Function(*(jnp.repeat(a[..., :1], 2, -1) for a in problem.experiment.function)),
        x=jnp.full_like(problem.experiment.x, 0.5),
    )
    problem = problem._replace(experiment=experiment)
    queries = np.asarray(policy_queries(problem, loaded.params, loaded.config))
    line = np.linspace(0, 1, SIDE)
    grid = np.stack(np.meshgrid(line, line)).reshape(2, -1, 1)
    values = np.asarray(evaluate(prior, theta, experiment.function, jnp.asarray(grid)))
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True)
    for i, axis in enumerate(axes):
        largest = np.ceil(10 * np.abs(values).max()) / 10
        shown = axis.contourf(
            line, line, values[:, i].reshape(SIDE, SIDE), np.linspace(-largest, largest, 21), cmap="PuOr"
        )
        axis.plot(0.5, 0.5, "k+", markersize=10)
        for number, point in enumerate(queries[:, :, i].T, 1):
            axis.annotate(str(number), point, ha="center", va="center", fontsize=9, fontweight="bold")
        axis.set(xlabel="$x_1$", aspect="equal", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        axis.grid(visible=False)
    axes[0].set_ylabel("$x_2$")
    figure.colorbar(shown, ax=axes, label="f(x)", shrink=0.9)
    return figure


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Draw what reacting looks like.

    Attributes:
        policy: a shipped name or a policy file, with two inputs.
        out: directory of the figures.
        functions: how many simulated functions per prior.
        seed: seed of the functions.
    """

    policy: str = "dim2-T20"
    out: Path = Path("results")
    functions: int = 200
    seed: int = 0


def main() -> int:
    arguments = tyro.cli(Arguments)
    cache.enable()
    try:
        loaded = alx.load(arguments.policy)
        if loaded.config.dim != 2:
            raise ValueError(f"--policy must have two inputs to be drawn, got {loaded.config.dim}")
        if arguments.functions < 2:
            raise ValueError(f"--functions must be at least 2, got {arguments.functions}")
    except ValueError as error:
        print(f"active: {error}", file=sys.stderr)
        return 2
    arguments.out.mkdir(parents=True, exist_ok=True)
    origin = {"Description": json.dumps(provenance.of_run())}
    with plt.rc_context(SETTINGS):
        for name, figure in (
            ("active-curves", curves(loaded, arguments.functions, arguments.seed)),
            ("active-corners", corners(loaded, arguments.seed)),
        ):
            figure.savefig(arguments.out / f"{name}.png", metadata=origin)
            print(f"{arguments.out / name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
