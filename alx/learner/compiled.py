"""Belief and policy as warm functions of float32 arrays, compiled once for all learners of the process.

The weights of the policy are constants of what is compiled, so a call passes nothing but the data.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alx import belief as beliefs
from alx.belief.predict import error, interval, predict
from alx.history import History
from alx.io.store import fingerprint
from alx.network.policy import Policy
from alx.network.score_network import JudgeConfig
from alx.propose import decide, propose, score_places

__all__ = [
    "Compiled",
    "capacity_for",
    "check_room",
    "compiled",
    "history",
    "is_general",
    "padded",
    "room_for",
    "waiting",
]

LARGEST_GB = 4  # of the belief of one output


class Compiled(NamedTuple):
    """Functions of one experiment; shapes as in ``alx.belief`` and ``alx.propose``.

    Attributes:
        believe: ``History -> Belief`` and the likely kernels of it, a mixture.
        tell: belief, x ``[E]``, all outputs standardised anew ``[N]``, row of x -> the same with this point.
        refine: belief, its points ``[N, E]``, outputs ``[N]`` as they were measured -> the model, a mixture.
        decide: mixture, pending points ``[m, E]``, which are there ``[m]``, remaining, how far apart two
            points may lie that are the same ``[E]`` -> the next input in the unit cube, and whether it is one
            of the points ``[E + 1]``.
        score: mixture, pending points, which are there, remaining, places, allowed, grid, covered -> scores.
        propose: ``History`` -> the next input by the rule of a paper's policy ``[D]``.
        predict: model, x ``[m, E]`` -> mean, sd.
        interval: model, x ``[m, E]``, level -> low, high.
        error: model, places ``[m, E]``, which are there ``[m]`` -> rmse, scale of its log.
    """

    believe: Callable[..., Any]
    tell: Callable[..., Any]
    refine: Callable[..., Any]
    decide: Callable[..., Any]
    score: Callable[..., Any]
    propose: Callable[..., Any]
    predict: Callable[..., Any]
    interval: Callable[..., Any]
    error: Callable[..., Any]


def compiled(policy: Policy, groups: tuple[int, ...]) -> Compiled:
    """The functions of this policy for points with these columns; each compiles once for each capacity."""
    return _compile(_Key(fingerprint(policy), groups, policy))


@dataclasses.dataclass(frozen=True)
class _Key:
    fingerprint: str
    groups: tuple[int, ...]
    policy: Policy = dataclasses.field(compare=False)


@functools.lru_cache(maxsize=64)
def _compile(key: _Key) -> Compiled:
    policy = key.policy

    # The likely kernels are chosen when a point is told, so that the next question finds them ready.
    def believe(history):
        belief = beliefs.believe(history, key.groups)
        return belief, beliefs.likely(belief)

    def tell(belief, x, y, row):
        belief = beliefs.with_outputs(beliefs.add(belief, x, y[row]), y)
        return belief, beliefs.likely(belief)

    def decide_anew(mixture, pending, waits, left, rounding):
        mixture = beliefs.with_pending(mixture, pending, waits)
        x = decide(policy, mixture, left)
        same = (jnp.abs(mixture.x - x) <= rounding).all(1) & mixture.mask
        return jnp.append(x, same.any())  # in one array, which is faster to fetch than two

    return Compiled(
        jax.jit(believe),
        jax.jit(tell),
        _in_double(lambda belief, x, y: beliefs.refine(beliefs.with_outputs(belief, y), (x, y))),
        jax.jit(decide_anew),
        jax.jit(
            lambda mixture, pending, waits, *rest: score_places(
                policy, beliefs.with_pending(mixture, pending, waits), *rest
            )
        ),
        jax.jit(lambda history: propose(policy, history)),
        _in_double(lambda model, x: predict(model, x, policy)),
        _in_double(lambda model, x, level: interval(model, x, level, policy)),
        _in_double(lambda model, x, there: error(model, x, there, policy)),
    )


def _in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """A model of many points with little noise needs double precision; to choose a query single is enough."""
    jitted = jax.jit(function)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        with jax.enable_x64(True):
            return jitted(*arguments)

    return call


def is_general(policy: Policy) -> bool:
    """Whether the policy scores places, for any number of inputs; others map points to a query."""
    return isinstance(policy.config, JudgeConfig)


def capacity_for(count: int) -> int:
    """Room for ``count`` points, in a few sizes only, so that few are compiled."""
    if count <= 32:
        return max(8, 8 * math.ceil(count / 8))
    power = 2 ** math.ceil(math.log2(count))
    return power * 3 // 4 if count <= power * 3 // 4 else power


@functools.cache
def room_for(count: int, inputs: int) -> int:
    """Bytes of a belief of ``count`` points: each kernel takes capacity^2 floats."""
    return 4 * capacity_for(count) ** 2 * len(beliefs.bank(inputs).noise)


def check_room(count: int, inputs: int) -> None:
    """What no machine has is refused before it is tried."""
    size = room_for(count, inputs) / 1e9
    if size > LARGEST_GB:
        raise ValueError(
            f"{count} points with {inputs} inputs would take {size:.0f} GB for the belief, more than the "
            f"{LARGEST_GB} GB that alx allows: it is for some hundred points"
        )


def padded(array: np.ndarray, rows: int) -> np.ndarray:
    """The array with rows of zeros up to this number."""
    return np.pad(array, [(0, rows - len(array))] + [(0, 0)] * (array.ndim - 1))


def waiting(pending: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pending points ``[m, E]`` padded to one of a few sizes, and which of the rows are there."""
    m = len(pending)
    size = 0 if m == 0 else 4 ** max(1, math.ceil(math.log(m, 4) - 1e-9))
    return padded(pending.astype(np.float32), size), np.arange(size) < m


def history(x: np.ndarray, y: np.ndarray, pending: np.ndarray, capacity: int) -> History:
    """Points ``x [n, E]``, ``y [n]`` and pending ones ``[m, E]`` in float32, told ones first."""
    n, count = len(y), len(y) + len(pending)
    index = np.arange(capacity)
    rows = padded(np.vstack([x, pending]).astype(np.float32), capacity)
    waits: Any = (n <= index) & (index < count) if len(pending) else None
    return History(rows, padded(y.astype(np.float32), capacity), index < count, waits)  # pyright: ignore
