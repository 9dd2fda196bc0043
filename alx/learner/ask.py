"""From what is believed and pending to the next point: the policy's decision in the domain at hand."""

import jax
import numpy as np

from alx.belief.places import FIRST, GRID
from alx.learner.candidates import best_of_pool, best_place, near_failures
from alx.learner.compiled import compiled, history, is_general, padded, waiting
from alx.learner.domain import Domain
from alx.learner.model import OutputBelief
from alx.learner.outputs import Output
from alx.learner.state import LearnerState
from alx.network.policy import Policy
from alx.propose import nearest

__all__ = ["Asker"]

ERROR_PLACES = 512  # where the error of the model is estimated


class Asker:
    """Answers for one policy, domain and pool; it holds nothing that changes.

    Args:
        policy: the policy.
        domain: where may be asked for.
        pool: codes ``[N, D]`` of the only points that may be asked for, or None.
        outputs: what is measured.
    """

    def __init__(self, policy: Policy, domain: Domain, pool: np.ndarray | None, outputs: tuple[Output, ...]):
        self.domain, self.pool, self._general = domain, pool, is_general(policy)
        if not self._general:
            _check_special(policy, domain, outputs)
        self.run = compiled(policy, domain.groups)
        self._pool_allowed = np.zeros(0, bool) if pool is None else domain.allows(pool)
        places = domain.places if pool is None else _shuffled(pool[self._pool_allowed])
        if len(places) == 0:
            raise ValueError(
                f"the constraint allows none of the {self._pool_allowed.size} points of the pool"
            )
        self.error_places = places[:ERROR_PLACES]
        grid = places[-GRID:]
        self._grid = padded(domain.embed(grid), GRID), np.arange(GRID) < len(grid)
        self._none = jax.device_put(waiting(domain.embed(np.zeros((0, domain.dim)))))
        self._rounding = jax.device_put((domain.rounding / np.ptp(domain.bounds, 1)).astype(np.float32))
        self._weights = [each.weight for each in outputs]

    def free(self, state: LearnerState) -> np.ndarray:
        """Which points of the pool may still be asked for, ``[N]``."""
        free = self._pool_allowed.copy()
        rows = np.concatenate([state.rows, state.pending_rows])
        free[rows[rows >= 0]] = False
        return free

    def __call__(
        self, beliefs: list[OutputBelief], state: LearnerState, remaining: float
    ) -> tuple[np.ndarray, int] | None:
        """The next point, as code ``[D]`` and row of the pool or -1; None when there is none left."""
        pending = waiting(self.domain.embed(state.pending)) if len(state.pending) else self._none
        left = np.float32(remaining)
        succeeded = len(beliefs) == 1 and len(beliefs[0].y) == len(state.y)  # of one output: all of them
        if self.pool is None and self.domain.plain and succeeded:
            if not self._general:
                return self.domain.fill(self._proposed(beliefs[0], state)), -1
            found = np.asarray(self.run.decide(beliefs[0].likely, *pending, left, self._rounding))
            if not found[-1]:
                return self.domain.fill(found[:-1]), -1
        return self._scored(beliefs, state, pending, left)

    def _proposed(self, one: OutputBelief, state: LearnerState) -> np.ndarray:
        """What a paper's policy answers ``[D]``."""
        points = history(one.x, one.seen[: len(one.y)], self.domain.embed(state.pending), len(one.seen))
        return np.asarray(self.run.propose(points))

    def _scored(self, beliefs, state, pending, left) -> tuple[np.ndarray, int] | None:
        failed = state.failed(self.domain.rounding)

        def score(codes: np.ndarray, allowed: np.ndarray) -> np.ndarray:
            size = FIRST
            while size < len(codes):
                size *= 2
            places, may = padded(self.domain.embed(codes), size), padded(allowed, size)
            total = np.zeros(len(codes))
            for weight, one in zip(self._weights, beliefs, strict=True):
                scores = np.asarray(self.run.score(one.likely, *pending, left, places, may, *self._grid))
                scores = scores[: len(codes)].astype(np.float64)
                total += weight * (scores - scores[allowed].mean())
            return np.where(allowed, total, -np.inf)

        if self.pool is None:
            code = best_place(score, self.domain, np.vstack([state.x, state.pending]), failed)
            return None if code is None else (code, -1)
        free = self.free(state)
        if not free.any():
            return None
        if self._general:
            row = best_of_pool(score, self.pool, free, near_failures(self.domain, failed, self.pool))
        else:
            row = int(nearest(self.domain.embed(self.pool), free, self._proposed(beliefs[0], state)))
        return self.pool[row], row


def _shuffled(pool: np.ndarray) -> np.ndarray:
    """The rows in an order whose beginning and end stand for the whole."""
    return pool[np.random.default_rng(0).permutation(len(pool))]


def _check_special(policy: Policy, domain: Domain, outputs: tuple[Output, ...]) -> None:
    """A policy that answers with a point of the unit cube serves a plain box, one output and pools."""
    dim = policy.config.dim  # pyright: ignore[reportAttributeAccessIssue]
    if domain.dim != dim:
        raise ValueError(f"the policy is for {dim} inputs, got bounds for {domain.dim}")
    if not domain.plain or len(outputs) > 1:
        raise ValueError(
            "the policy is for real inputs without a constraint and for one output: "
            "the general policy, which is the default, takes the others"
        )
