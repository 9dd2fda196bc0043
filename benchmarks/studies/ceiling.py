"""How much could reacting gain, and how much of it does a policy get?

    python -m benchmarks.studies.ceiling --prior nonstationary --policy dim2-T20

On the same simulated functions, with the same first point and noise, this compares queries by

    random        uniform inputs
    sobol         a scrambled Sobol design, another scramble for each function
    gp-al         GP AL that knows theta, as no user does
    static        the best fixed design for the prior, trained here with `integrated-variance`
    blind         the policy, fed y = 0
    policy        the policy
    clairvoyant   the best design for each function's own kernel, which is known to nobody in practice:
                  gradient descent on the inputs, from several starts

in RMSE of the GP posterior with the true theta. The ceiling is static - clairvoyant, and the policy's share
of it (static - policy) / (static - clairvoyant). A last column has the RMSE after a user's own fit, theta
unknown.
"""

import dataclasses
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import tyro
from jax import Array
from rich.console import Console
from rich.table import Table

import alx
from alx.io import cache, provenance
from alx.network.policy import PolicyConfig
from alx.train import step as training
from alx.train.config import TrainConfig
from alx.train.posterior import posterior
from alx.train.prior import PRIORS, Prior, Theta
from alx.train.rollout import Trajectory
from benchmarks.evaluation.statistics import p_below
from benchmarks.studies.simulated import (
    Functions,
    draw,
    greedy_queries,
    policy_queries,
    random_queries,
    rmse,
    rmse_refitted,
    sobol_queries,
)

Rows = dict[str, np.ndarray]  # RMSE per function

CLAIRVOYANT_STEPS = 400
STATIC_STEPS = 2000


def log_variance(prior: Prior, theta: Theta, x: Array, test: Array) -> Array:
    """log of the mean posterior variance over the test points given measurements at ``x [D, n, B]``."""
    trajectory = Trajectory(x, jnp.zeros(x.shape[1:]), jnp.ones((x.shape[1], 1), bool), x.shape[1])
    return jnp.log(posterior(prior, theta, trajectory, test)[1].mean(0))


def clairvoyant_queries(problem: Functions, starts: list[Array], steps: int = CLAIRVOYANT_STEPS) -> Array:
    """The design with the least posterior variance for each function's own theta; best of the starts."""
    prior, config, experiment, test = problem
    given = experiment.x[:, : config.n_init]
    schedule = optax.cosine_decay_schedule(0.1, steps)
    transform = optax.adam(schedule)

    def loss(logits: Array) -> Array:
        x = jnp.concatenate([given, jax.nn.sigmoid(logits)], axis=1)
        return log_variance(prior, experiment.theta, x, test)

    def descend(start: Array) -> tuple[Array, Array]:
        def step(carry, _):
            logits, state = carry
            updates, state = transform.update(jax.grad(lambda z: loss(z).sum())(logits), state)
            return (logits + updates, state), None

        logits = jax.scipy.special.logit(jnp.clip(start, 0.01, 0.99))
        (logits, _), _ = jax.lax.scan(step, (logits, transform.init(logits)), length=steps)
        return loss(logits), jax.nn.sigmoid(logits)

    values, designs = zip(*[jax.jit(descend)(start) for start in starts], strict=True)
    best = jnp.argmin(jnp.stack(values), axis=0)
    return jnp.take_along_axis(jnp.stack(designs), best[None, None, None], axis=0)[0]


def static_queries(problem: Functions, steps: int = STATIC_STEPS) -> Array:
    """The best fixed design for the prior."""
    config = dataclasses.replace(problem.config, network="static")
    train = TrainConfig(config, problem.prior, lr=3e-3, steps=steps)
    mesh = training.make_mesh()
    state, step = training.initial_state(train, mesh), training.make_step(train, mesh)
    for _ in range(steps):
        state, _ = step(state)
    params = jax.tree.map(lambda a: jnp.asarray(np.asarray(a)), state.params)
    return policy_queries(problem, params, config)


def compare(problem: Functions, params, config: PolicyConfig) -> tuple[Rows, Rows]:
    """RMSE per function of each way to query, theta known and after a user's own fit."""
    queries = {
        "random": random_queries(problem),
        "sobol": sobol_queries(problem),
        "gp-al": greedy_queries(problem),
        "static": static_queries(problem),
        "blind": policy_queries(problem, params, config, blind=True),
        "policy": policy_queries(problem, params, config),
    }
    starts = [queries[name] for name in ("static", "sobol", "random", "policy")]
    queries["clairvoyant"] = clairvoyant_queries(problem, starts)
    return (
        {name: np.asarray(rmse(problem, x)) for name, x in queries.items()},
        {name: rmse_refitted(problem, x) for name, x in queries.items()},
    )


def share(rows: Rows) -> tuple[float, float]:
    """The policy's share of the ceiling and its standard error (delta method for a ratio of means)."""
    gain, ceiling = rows["static"] - rows["policy"], rows["static"] - rows["clairvoyant"]
    ratio = gain.mean() / ceiling.mean()
    return float(ratio), float((gain - ratio * ceiling).std(ddof=1) / len(gain) ** 0.5 / abs(ceiling.mean()))


def report(rows: Rows, refitted: Rows, title: str) -> dict:
    """Print the table; returns the same as data."""
    table = Table(title=title)
    for column in ("queries", "RMSE", "standard error", "against static", "refitted RMSE"):
        table.add_column(column, justify="left" if column == "queries" else "right")
    static = rows["static"].mean()
    for name, values in rows.items():
        error = values.std(ddof=1) / len(values) ** 0.5
        against = f"{100 * (values.mean() / static - 1):+.1f} %"
        table.add_row(name, f"{values.mean():.4f}", f"{error:.4f}", against, f"{refitted[name].mean():.4f}")
    ratio, error = share(rows)
    p = {name: p_below(rows["policy"], rows[name]) for name in ("blind", "sobol", "random")}
    console = Console()
    console.print(table)
    console.print(f"share of the ceiling: {100 * ratio:.0f} % ± {100 * error:.0f} %")
    tests = ", ".join(f"{name} p = {value:.1g}" for name, value in p.items())
    console.print(f"policy below {tests} (one-sided Wilcoxon, {len(rows['policy'])} functions)")
    return {
        "title": title,
        "rmse": {name: float(values.mean()) for name, values in rows.items()},
        "refitted": {name: float(values.mean()) for name, values in refitted.items()},
        "share": ratio,
        "share_error": error,
        "p": p,
    }


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Compare a policy with the best fixed design and with the best design per function.

    Attributes:
        policy: a shipped name or a policy file.
        prior: paper, wide, nonstationary, broad or unit.
        functions: how many simulated functions.
        seed: seed of the functions.
        json: write the figures to this file, too.
    """

    policy: str
    prior: str = "nonstationary"
    functions: int = 256
    seed: int = 0
    json: Path | None = None


def main() -> int:
    arguments = tyro.cli(Arguments)
    cache.enable()
    try:
        if arguments.prior not in PRIORS:
            raise ValueError(f"--prior must be one of {', '.join(PRIORS)}, got {arguments.prior!r}")
        if arguments.functions < 2:
            raise ValueError(f"--functions must be at least 2, got {arguments.functions}")
        loaded = alx.load(arguments.policy)
    except ValueError as error:
        print(f"ceiling: {error}", file=sys.stderr)
        return 2
    problem = draw(PRIORS[arguments.prior], loaded.config, arguments.functions, arguments.seed)
    rows, refitted = compare(problem, loaded.params, loaded.config)
    title = f"{arguments.policy}, prior {arguments.prior}, D={loaded.config.dim}, T={loaded.config.T}"
    result = report(rows, refitted, title)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({**result, **provenance.of_run()}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
