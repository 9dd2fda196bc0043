"""Which output should a pending query be given? ``python -m benchmarks.studies.batches``

A batch of q queries is proposed one by one, each with the earlier ones in the history as if measured. Two
guesses of their outputs are compared, the mean of the outputs so far and the output of the nearest point,
by the RMSE at the end of T queries in batches of q; q = 1 has nothing to guess and is the reference.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import alx
from alx.network.policy import Policy
from alx.propose import Impute, impute_mean, impute_nearest
from benchmarks.evaluation.final import FUNCTIONS, final_rmse
from benchmarks.evaluation.methods import Method, Round
from benchmarks.evaluation.tasks import TASKS

__all__ = ["main"]


def main(policies: tuple[str, ...] = ("dim1-T10", "dim2-T20"), q: int = 4, seeds: int = 20) -> None:
    """Print the final RMSE of each guess.

    Args:
        policies: shipped names or policy files; each is tried on the tasks of its dimension.
        q: size of a batch.
        seeds: how many paired experiments.
    """
    print(f"{'policy':<24}{'task':<12}{'q = 1':>10}{'mean':>10}{'nearest':>10}   (q = {q}, {seeds} seeds)")
    for name in policies:
        policy = alx.load(name)
        methods = [
            _method("one", policy, 1, impute_mean),
            _method("mean", policy, q, impute_mean),
            _method("nearest", policy, q, impute_nearest),
        ]
        for task in (TASKS[each](None) for each in FUNCTIONS):
            if task.dim == policy.config.dim:
                rmse = [final_rmse(task, method, seeds, policy.config.T).mean() for method in methods]
                line = "".join(f"{value:>10.4f}" for value in rmse)
                print(f"{name[-23:]:<24}{task.name:<12}{line}", flush=True)


def _method(name: str, policy: Policy, q: int, impute: Impute) -> Method:
    """Every q queries a new batch for all seeds; in between the rest of the last one."""
    batch = np.zeros(0)
    propose = jax.jit(jax.vmap(functools.partial(alx.propose_batch, q=q, impute=impute), in_axes=(None, 0)))

    def choose(state: Round) -> np.ndarray:
        nonlocal batch
        place = (state.step - 1) % q
        if place == 0:
            batch = np.asarray(propose(policy, _histories(state)))
        return batch[:, place]

    def prepare(state: Round) -> Callable[[], object]:
        histories = _histories(state)
        return lambda: jax.block_until_ready(propose(policy, histories))

    return Method(name, choose, prepare)


def _histories(state: Round) -> alx.History:
    x, y = jnp.asarray(state.x, jnp.float32), jnp.asarray(state.y, jnp.float32)
    return alx.History(x, y, jnp.asarray(state.mask))


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
