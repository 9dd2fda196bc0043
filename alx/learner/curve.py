"""How the estimated error fell as the points came."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from alx.learner.model import ErrorEstimate, estimate_error, update

__all__ = ["error_curve"]


def error_curve(learner: Any, p: int, counts: Iterable[int]) -> ErrorEstimate:
    """The error of output ``p`` as it was after each of these numbers of its points, an array each."""
    run, now = learner._asker.run, learner._told_beliefs()[p]
    places = learner._domain.embed(learner._asker.error_places)
    beliefs = [
        update(run, None, now.x[:n], now.y[:n], learner._known_scale(p), len(now.seen)) for n in counts
    ]
    found = [estimate_error(one, places) for one in beliefs]
    return ErrorEstimate(*np.array(found, np.float64).reshape(-1, 3).T)
