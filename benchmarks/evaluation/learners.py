"""What a user of `alx.Learner` gets: raw units, an unknown scale, and the points that happen to be there."""

import numpy as np

import alx
from alx.io.store import fingerprint
from alx.network.policy import Policy
from benchmarks.evaluation.methods import Method, Round

__all__ = ["method"]


def method(name: str, policy: Policy, given: int) -> Method:
    """A learner for each seed, told in the task's own units the ``given`` points and then its own queries."""

    def choose(state: Round) -> np.ndarray:
        return np.stack([_ask(state, _told(policy, state, i)) for i in range(len(state.seeds))])

    def prepare(state: Round):
        learner = _told(policy, state, 0)

        def ask() -> None:
            learner.ask()
            learner.forget()  # so that the next call asks the same question

        return ask

    return Method(name, choose, prepare, f"{fingerprint(policy)}-learner", given)


def _told(policy: Policy, state: Round, i: int) -> alx.Learner:
    units, done = state.task.units, state.mask[i]
    bounds = list(zip(units.low, units.high, strict=True))
    pool = None if state.available is None else units.x(state.task.test_x)
    learner = alx.Learner(policy, bounds, pool=pool, budget=len(done))
    if done.any():
        learner.tell(units.x(state.x[i, done]), units.y(state.y[i, done]))
    return learner


def _ask(state: Round, learner: alx.Learner) -> np.ndarray:
    """The query in the unit cube."""
    low, high = np.asarray(state.task.units.low), np.asarray(state.task.units.high)
    return np.clip((learner.ask() - low) / (high - low), 0, 1)
