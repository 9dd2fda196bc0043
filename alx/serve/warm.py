"""Compiling what a new shape of experiment needs, on a learner of its own, while others are served.

A first ``ask`` takes seconds to compile, once for each number of inputs and each size of budget; on the
experiment itself that would keep even its list of points from being shown.
"""

import jax
import numpy as np

import alx
from alx.learner.compiled import capacity_for
from alx.learner.inputs import Choice, Input
from alx.serve.memory import give_back
from alx.serve.spec import new_learner

__all__ = ["WARM", "shape", "warm"]


def shape(spec: dict) -> tuple:
    """Experiments of equal shape share what is compiled."""
    kinds = tuple((each.get("kind", "real"), len(each.get("levels", ()))) for each in spec["inputs"])
    free = not spec.get("constraints") and len(spec.get("outputs", [0])) == 1
    return kinds, free, capacity_for(int(spec.get("budget", 32)))


def _model(spec: dict) -> None:
    learner = _with_points(spec)
    learner.error()
    learner.interval(np.repeat(learner.x[:1], 1024, 0))


def _ask(spec: dict) -> None:
    learner = _with_points(spec)
    for _ in range(int(min(learner.remaining, 2))):
        learner.ask()


def _with_points(spec: dict) -> alx.Learner:
    """With a few points anywhere; the budget does not matter but for its size."""
    learner = new_learner(spec)
    count = len(learner.outputs)
    for i in range(min(2, learner.budget or 2)):
        learner.tell(
            [_end(each, i) for each in learner.inputs], float(i) if count == 1 else [float(i)] * count
        )
    return learner


def _end(each: Input, i: int):
    return each.levels[i] if isinstance(each, Choice) else (each.low, each.high)[i]


WARM = {"model": _model, "ask": _ask}


def warm(what: str, spec: dict, alone: bool = False) -> None:
    """Compile what an experiment of this shape needs for a model or for an ``ask``.

    Args:
        what: which of the two.
        spec: describes an experiment of the shape.
        alone: let go of all that was compiled before; it is read from disk when it is needed again.
    """
    if alone:
        jax.clear_caches()
    WARM[what](spec)
    give_back()
