"""Does a learner that does not know the scale of its outputs lose anything?

``python -m benchmarks.studies.standardisation``: the function tasks measured in a unit of their own, times
1000 plus 50000, once with the true mean and standard deviation given to the learner and once without. The
RMSE at the end, scaled back, is compared; within 10 % counts as nothing lost.
"""

from collections.abc import Callable

import numpy as np
import tyro

import alx
from alx.network.policy import Policy
from benchmarks.evaluation.final import FUNCTIONS, final_rmse
from benchmarks.evaluation.methods import Method, Round
from benchmarks.evaluation.tasks import TASKS

__all__ = ["main"]

SCALE, SHIFT = 1000.0, 50_000.0


def main(policies: tuple[str, ...] = ("dim1-T10", "dim2-T20"), seeds: int = 20, T: int | None = None) -> None:
    """Print the final RMSE with known and with automatic standardisation, and their ratio.

    Args:
        policies: shipped names or policy files; each is tried on the tasks of its dimension.
        seeds: how many paired experiments.
        T: queries of an experiment; what the policy was trained for by default.
    """
    print(f"{'policy':<24}{'task':<12}{'known':>10}{'automatic':>11}{'ratio':>8}   ({seeds} seeds)")
    for name in policies:
        policy = alx.load(name)
        budget = policy.config.T if T is None else T
        for task in (TASKS[each](None) for each in FUNCTIONS):
            if task.dim == policy.config.dim:
                methods = _method("known", policy, y_mean=SHIFT, y_std=SCALE), _method("automatic", policy)
                known, unknown = (final_rmse(task, method, seeds, budget).mean() for method in methods)
                line = f"{known:>10.4f}{unknown:>11.4f}{unknown / known:>8.3f}"
                print(f"{name[-23:]:<24}{task.name:<12}{line}", flush=True)


def _method(name: str, policy: Policy, **known: float) -> Method:
    """A learner for each seed, told all that was measured so far in the raw unit."""

    def choose(state: Round) -> np.ndarray:
        return np.stack(
            [_ask(policy, *data, **known) for data in zip(state.x, state.y, state.mask, strict=True)]
        )

    def prepare(state: Round) -> Callable[[], object]:
        return lambda: choose(state)

    return Method(name, choose, prepare)


def _ask(policy: Policy, x: np.ndarray, y: np.ndarray, mask: np.ndarray, **known: float) -> np.ndarray:
    learner = alx.Learner(policy, [(0, 1)] * x.shape[1], budget=len(y), **known)
    learner.tell(x[mask], SHIFT + SCALE * y[mask])
    return learner.ask()


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
