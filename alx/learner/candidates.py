"""The next place among those that may be asked for: of a pool, a constrained domain, whole numbers, choices.

The policy scores places; here is decided which places there are. One that was told or is pending already is
not taken again, and one near a failed measurement only when nothing else is left.
"""

from collections.abc import Callable

import numpy as np

from alx.belief.places import FIRST, REACH, SECOND
from alx.learner.domain import Domain

__all__ = ["best_of_pool", "best_place", "near_failures", "same_as"]

# How far from a failed measurement places are avoided: parts of the range, in each of the D directions.
AVOIDED = 0.05

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]  # codes [C, D], allowed [C] -> scores [C]


def same_as(points: np.ndarray, codes: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Which of the codes ``[C, D]`` are one of the points ``[n, D]``."""
    return np.any(np.all(np.abs(codes[:, None] - points) <= rounding, axis=2), axis=1)


def near_failures(domain: Domain, failed: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Which of the codes ``[C, D]`` lie near one of the failed points ``[f, D]``."""
    if len(failed) == 0:
        return np.zeros(len(codes), bool)
    squares = np.square(domain.embed(codes)[:, None] - domain.embed(failed)).sum(2)
    return (squares <= domain.dim * AVOIDED**2).any(1)


def best_of_pool(score: Score, pool: np.ndarray, free: np.ndarray, shy: np.ndarray) -> int:
    """The row of the pool ``[N, D]`` with the best score, of those that are free."""
    allowed = free & ~shy
    return int(score(pool, allowed if allowed.any() else free).argmax())


def best_place(score: Score, domain: Domain, taken: np.ndarray, failed: np.ndarray) -> np.ndarray | None:
    """The code ``[D]`` with the best score: of places all over the domain, then of places around the best.

    None when every point of a finite domain is taken.
    """
    first, shy = _open_places(domain, taken, failed)
    if len(first) == 0:
        return None
    best = first[score(first, np.ones(len(first), bool)).argmax()]
    if domain.listed:
        return best
    width = REACH * FIRST ** (-1 / domain.dim)
    second = domain.around(best, width, SECOND)
    allowed = ~same_as(taken, second, domain.rounding)
    if not shy:
        allowed &= ~near_failures(domain, failed, second)
    return second[score(second, allowed).argmax()]


def _open_places(domain: Domain, taken: np.ndarray, failed: np.ndarray) -> tuple[np.ndarray, bool]:
    """The first places neither taken nor near a failure; if there are none, those near one (then True)."""
    wanted = len(domain.places) if domain.listed else FIRST
    spare = []
    found: list[np.ndarray] = []
    for begin in range(0, len(domain.places), 4 * FIRST):
        block = domain.places[begin : begin + 4 * FIRST]
        block = block[~same_as(taken, block, domain.rounding)]
        near = near_failures(domain, failed, block)
        found.append(block[~near])
        spare.append(block[near])
        if sum(map(len, found)) >= wanted:
            break
    places = np.concatenate(found)[:wanted]
    return (places, False) if len(places) else (np.concatenate(spare)[:wanted], True)
