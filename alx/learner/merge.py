"""Two processes that added points to the same experiment: one state with all of them."""

from collections import Counter

import numpy as np

from alx.learner.state import LearnerState

__all__ = ["continues", "merge", "unite"]


def continues(theirs: LearnerState, base: LearnerState) -> bool:
    """Whether ``theirs`` came from ``base`` by telling only: what was told before is there, in its place."""
    n = len(base.y)
    return len(theirs.y) >= n and _told(theirs)[:n] == _told(base)


def merge(base: LearnerState, mine: LearnerState, theirs: LearnerState) -> LearnerState:
    """What both have told since ``base``, and what is pending for either.

    ``mine`` and ``theirs`` both continue ``base``. A pending point of the base that one of them has answered
    or given up is no longer pending.
    """
    before = Counter(_pending(base))
    gone = before - Counter(_pending(mine))
    asked = Counter(_pending(mine)) - before
    kept = [i for i, key in enumerate(_pending(theirs)) if not _take(gone, key)]
    new = [i for i, key in enumerate(_pending(mine)) if _take(asked, key)]
    n = len(base.y)
    return LearnerState(
        np.vstack([theirs.x, mine.x[n:]]),
        np.vstack([theirs.y, mine.y[n:]]),
        np.append(theirs.rows, mine.rows[n:]),
        (*theirs.extra, *mine.extra[n:]),
        np.vstack([theirs.pending[kept], mine.pending[new]]),
        np.append(theirs.pending_rows[kept], mine.pending_rows[new]),
    )


def unite(mine: LearnerState, theirs: LearnerState) -> LearnerState:
    """``theirs`` with what of ``mine`` it lacks; a point that both have told or asked for counts once."""
    common = Counter(_told(theirs))
    new = [i for i, key in enumerate(_told(mine)) if not _take(common, key)]
    shared = Counter(_pending(theirs)) + Counter(key[0] for key in _told(theirs))
    asked = [i for i, key in enumerate(_pending(mine)) if not _take(shared, key)]
    return LearnerState(
        np.vstack([theirs.x, mine.x[new]]),
        np.vstack([theirs.y, mine.y[new]]),
        np.append(theirs.rows, mine.rows[new]),
        (*theirs.extra, *(mine.extra[i] for i in new)),
        np.vstack([theirs.pending, mine.pending[asked]]),
        np.append(theirs.pending_rows, mine.pending_rows[asked]),
    )


def _told(state: LearnerState) -> list[tuple[bytes, bytes]]:
    return [(x.tobytes(), y.tobytes()) for x, y in zip(state.x, state.y, strict=True)]


def _pending(state: LearnerState) -> list[bytes]:
    return [x.tobytes() for x in state.pending]


def _take(counter: Counter, key) -> bool:
    """Whether there is one of these left; then it is taken."""
    if counter[key] <= 0:
        return False
    counter[key] -= 1
    return True
