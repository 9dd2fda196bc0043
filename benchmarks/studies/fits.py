"""How close the fit that training knows is to a user's: python -m benchmarks.studies.fits POLICY

Both predict the same simulated functions from the policy's queries. The excess is the log of a fit's RMSE
less that of the posterior with the true theta: what not knowing theta costs.
"""

import dataclasses
import sys

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import alx
from alx.io import cache
from alx.network.policy import Policy
from alx.train import refit
from alx.train.prior import PRIORS
from alx.train.rollout import Trajectory
from benchmarks.studies import simulated


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Compare the fit that training knows with a user's.

    Attributes:
        policy: a shipped name or a policy file.
        functions: simulated functions per prior.
        seed: seed of the functions.
    """

    policy: tyro.conf.Positional[str]
    functions: int = 300
    seed: int = 9


def excesses(policy: Policy, prior: str, functions: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Of a user's fit and of the one that training knows, for each function of unit variance."""
    standardised = dataclasses.replace(PRIORS[prior], standardised=True)
    problem = simulated.draw(standardised, policy.config, functions, seed)
    queries = simulated.policy_queries(problem, policy.params, policy.config)
    x, y, mask, T = simulated.measure(problem, queries)
    fitted_mean = jax.jit(
        lambda theta, x, y: refit.fitted_mean(
            jax.random.key(1), theta, Trajectory(x, y, mask, T), problem.test
        )
    )
    predicted = fitted_mean(problem.experiment.theta, x, y)
    trained = jnp.sqrt(jnp.square(predicted - simulated.truth(problem)).mean(0))
    known = np.log(simulated.rmse(problem, queries))
    return np.log(simulated.rmse_refitted(problem, queries)) - known, np.log(trained) - known


def main() -> int:
    arguments = tyro.cli(Arguments)
    cache.enable()
    try:
        policy = alx.load(arguments.policy)
        if arguments.functions < 2:
            raise ValueError(f"--functions must be at least 2, got {arguments.functions}")
    except (OSError, ValueError) as error:
        print(f"fits: {error}", file=sys.stderr)
        return 2
    print("| prior | excess, user's fit | training's | correlation | root mean square of the difference |")
    print("|---|---:|---:|---:|---:|")
    for prior in [name for name, prior in PRIORS.items() if not prior.standardised]:
        user, trained = excesses(policy, prior, arguments.functions, arguments.seed)
        correlation, apart = np.corrcoef(user, trained)[0, 1], np.sqrt(np.mean(np.square(user - trained)))
        print(f"| {prior} | {user.mean():.3f} | {trained.mean():.3f} | {correlation:.2f} | {apart:.3f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
