"""Ways to choose queries on many functions at once, and how an experiment goes and ends.

``choose(state) -> x [B, D]`` proposes for B experiments, each with a function of its own. Whatever is random
depends on the function, the regime, the method and the step alone, never on what else is run.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import qmc

import alx
from benchmarks.evaluation import acquisition, gp_model
from benchmarks.evaluation.methods import CANDIDATES, generator
from benchmarks.evaluation.tasks import Task

__all__ = ["REGIMES", "RIVALS", "Choose", "Regime", "State", "from_policy", "log_rmse", "run", "unfold"]

SEED = 0
CORNER = 0.4  # side of the corner cube
TOGETHER = 20  # experiments a policy decides on at once
ROOM = 4  # GP AL is compiled for every fourth number of points


@dataclasses.dataclass(frozen=True)
class Regime:
    """How many points are given, how many queries follow, and whether the given ones lie in one corner."""

    given: int
    queries: int
    corner: bool = False

    @property
    def size(self) -> int:
        return self.given + self.queries


REGIMES = {
    "0:8": Regime(0, 8),
    "1:10": Regime(1, 10),
    "1:20": Regime(1, 20),
    "1:40": Regime(1, 40),
    "4:8": Regime(4, 8),
    "8:12": Regime(8, 12),
    "corner-8:12": Regime(8, 12, corner=True),
    "15:25": Regime(15, 25),
    "30:30": Regime(30, 30),
    "130:20": Regime(130, 20),
}


class State(NamedTuple):
    """What a method may look at: B experiments of one regime, the first ``filled`` points of each measured.

    Attributes:
        names: of the experiments, which their random numbers hang on.
        filled: how many points there are.
        x: inputs ``[B, n, D]``; what is not measured yet is 0, and so is its y.
        y: labels ``[B, n]``.
        regime: how many were given, how many are queried.
    """

    names: Sequence[str]
    filled: int
    x: np.ndarray
    y: np.ndarray
    regime: Regime

    @property
    def dim(self) -> int:
        return self.x.shape[2]


Choose = Callable[[State], np.ndarray]


def stream(name: str, dim: int, regime: Regime, *purpose: str | int) -> np.random.Generator:
    """A stream of random numbers of its own for every function, regime and purpose."""
    return generator(name, SEED, dim, regime.given, regime.queries, int(regime.corner), *purpose)


def run(tasks: Sequence[Task], regime: Regime, choose: Choose) -> tuple[np.ndarray, np.ndarray]:
    """One experiment with each function: all inputs ``[B, n, D]`` and labels ``[B, n]``.

    Given points and noise are the same whoever chooses.
    """
    names, dim = [task.name for task in tasks], tasks[0].dim
    noise = np.stack([_noise(task, regime) for task in tasks])

    def label(filled: int, x: np.ndarray) -> np.ndarray:
        return np.array([_truth(task, at) for task, at in zip(tasks, x, strict=True)]) + noise[:, filled]

    return unfold(names, np.stack([given_points(name, dim, regime) for name in names]), regime, label, choose)


def unfold(
    names: Sequence[str],
    given: np.ndarray,
    regime: Regime,
    label: Callable[[int, np.ndarray], np.ndarray],
    choose: Choose,
) -> tuple[np.ndarray, np.ndarray]:
    """All inputs ``[B, n, D]`` and labels ``[B, n]``: of the points ``given [B, given, D]``, then of queries.

    ``label(i, x [B, D])`` measures the i-th points.
    """
    shape = (len(names), regime.size)
    x, y = np.zeros((*shape, given.shape[2])), np.zeros(shape)
    for filled in range(regime.size):
        is_given = filled < regime.given
        new = given[:, filled] if is_given else choose(State(names, filled, x, y, regime))
        x[:, filled], y[:, filled] = new, label(filled, new)
    return x, y


def given_points(name: str, dim: int, regime: Regime) -> np.ndarray:
    """Uniform inputs ``[given, D]``, in the unit cube or in the smaller cube of a random corner."""
    random = stream(name, dim, regime, "given")
    x = random.random((regime.given, dim))
    if not regime.corner:
        return x
    return np.where(random.random(dim) < 0.5, CORNER * x, 1 - CORNER * x)


def _noise(task: Task, regime: Regime) -> np.ndarray:
    return task.noise * stream(task.name, task.dim, regime, "noise").standard_normal(regime.size)


def _truth(task: Task, x: np.ndarray) -> float:
    assert task.truth is not None
    return task.truth(x[None])[0]


def log_rmse(tasks: Sequence[Task], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """log RMSE ``[B]`` of the model of `benchmarks.evaluation`, fitted to all points of each experiment."""
    mask = np.ones(y.shape, bool)
    theta, _ = gp_model.fit_many(x, y, mask)
    mean = np.concatenate(
        [_predicted(theta[b], x[b], y[b], mask[b], tasks[0].test_x) for b in _blocks(len(y))]
    )
    return np.log(np.sqrt(np.square(mean - np.stack([task.test_y for task in tasks])).mean(1)))


def _predicted(theta, x, y, mask, test_x) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(_mean(*(jnp.asarray(a.T) for a in (theta, x, y, mask)), jnp.asarray(test_x.T))).T


@jax.jit
def _mean(theta, x, y, mask, test_x):
    test_x = jnp.broadcast_to(test_x[..., None], (*test_x.shape, y.shape[-1]))
    return gp_model.predict(gp_model.condition(theta, x, y, mask), test_x)[0]


def _blocks(total: int) -> list[np.ndarray]:
    """Indices, so many at a time that they stay in cache with their restarts."""
    return [np.arange(i, min(i + gp_model.BLOCK, total)) for i in range(0, total, gp_model.BLOCK)]


def sobol(state: State) -> np.ndarray:
    """The next point of a scrambled Sobol sequence, which knows nothing of the given points."""
    designs = (_design(name, state.dim, state.regime) for name in state.names)
    return np.stack([design[state.filled - state.regime.given] for design in designs])


@functools.cache
def _design(name: str, dim: int, regime: Regime) -> np.ndarray:
    power = (regime.queries - 1).bit_length()
    return qmc.Sobol(dim, rng=stream(name, dim, regime, "sobol")).random_base2(power)


def random(state: State) -> np.ndarray:
    """Uniform in the cube."""
    return _candidates(state, "random", 1)[:, 0]


def maximin(state: State) -> np.ndarray:
    """Of fresh uniform candidates the one farthest from all points so far; any without points."""
    candidates = _candidates(state, "maximin", CANDIDATES)
    if not state.filled:
        return candidates[:, 0]
    nearest = [cdist(own, x[: state.filled]).min(1) for own, x in zip(candidates, state.x, strict=True)]
    return _take(candidates, np.argmax(nearest, 1))


def gp_al(name: str, score: Callable, state: State) -> np.ndarray:
    """Refit the model, score fresh uniform candidates, take the best."""
    candidates = _candidates(state, name, CANDIDATES)
    room = max(math.ceil(state.filled / ROOM), 1) * ROOM
    pad = (0, room - state.filled)
    x = np.pad(state.x[:, : state.filled], ((0, 0), pad, (0, 0)))
    y = np.pad(state.y[:, : state.filled], ((0, 0), pad))
    mask = np.broadcast_to(np.arange(room) < state.filled, y.shape)
    chosen = [_select(score, x[b], y[b], mask[b], candidates[b]) for b in _blocks(len(y))]
    return _take(candidates, np.concatenate(chosen))


def _select(score: Callable, x, y, mask, candidates) -> np.ndarray:
    """`acquisition.select` for a block, filled up to one size so that it compiles once."""
    own = len(y)
    full = np.resize(np.arange(own), gp_model.BLOCK)
    available = np.ones((gp_model.BLOCK, candidates.shape[1]), bool)
    return acquisition.select(score, x[full], y[full], mask[full], candidates[full], available)[:own]


def _candidates(state: State, method: str, number: int) -> np.ndarray:
    """Fresh uniform inputs ``[B, number, D]``."""
    streams = (stream(name, state.dim, state.regime, method, state.filled) for name in state.names)
    return np.stack([own.random((number, state.dim)) for own in streams])


def _take(candidates: np.ndarray, best: np.ndarray) -> np.ndarray:
    return candidates[np.arange(len(best)), best]


RIVALS: dict[str, Choose] = {
    "sobol": sobol,
    "random": random,
    "maximin": maximin,
    "gp-al": functools.partial(gp_al, "gp-al", acquisition.entropy),
    "gp-al-variance": functools.partial(gp_al, "gp-al-variance", acquisition.integrated_variance),
}


def from_policy(policy, blind: bool = False) -> Choose:
    """A policy, which is told how many queries remain by the room its history has left; blind, y = 0."""

    def choose(state: State) -> np.ndarray:
        mask = np.broadcast_to(np.arange(state.regime.size) < state.filled, state.y.shape)
        y = np.zeros_like(state.y) if blind else state.y
        chosen = []
        for i in range(0, len(y), TOGETHER):
            own = min(TOGETHER, len(y) - i)
            part = i + np.resize(np.arange(own), TOGETHER)
            x, labels = (jnp.asarray(a[part], jnp.float32) for a in (state.x, y))
            history = alx.History(x, labels, jnp.asarray(mask[part]))
            chosen.append(np.asarray(_propose_many(policy, history), float)[:own])
        return np.concatenate(chosen)

    return choose


_propose_many = jax.jit(jax.vmap(alx.propose, in_axes=(None, 0)))
