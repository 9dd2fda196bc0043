"""Who chooses the next query: Random, Sobol, maximin, GP AL, policies and any function, all behind one call.

``choose(round) -> x [S, D]`` proposes for S paired seeds at once. In a pool the protocol then takes the
nearest point that is still unlabelled. Whatever is random depends on the task, the method, the seed and the
step alone, never on what else is run.
"""

import dataclasses
import functools
import zlib
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import qmc

from alx.history import History
from alx.io.store import fingerprint
from alx.network.policy import Policy
from alx.propose import propose, propose_from_pool
from benchmarks.evaluation import acquisition
from benchmarks.evaluation.tasks import Task

__all__ = ["Method", "Round", "baselines", "from_function", "from_policy", "generator"]

CANDIDATES = 5000  # of GP AL, as in the paper


@dataclasses.dataclass(frozen=True)
class Round:
    """What a method may look at before query ``step`` (1 to T), for S seeds at once.

    Attributes:
        task: the task; only its dimension and its pool are for a method to use.
        step: the number of this query.
        seeds: the S seeds.
        x: inputs so far ``[S, n, D]``, padded.
        y: labels so far ``[S, n]``.
        mask: which rows are filled, ``[S, n]``.
        available: the pool points not labelled yet, ``[S, N]``; None when there is no pool.
    """

    task: Task
    step: int
    seeds: Sequence[int]
    x: np.ndarray
    y: np.ndarray
    mask: np.ndarray
    available: np.ndarray | None


@dataclasses.dataclass(frozen=True)
class Method:
    """A way to choose queries.

    Attributes:
        name: its name in rows.
        choose: proposals ``[S, D]`` for all seeds of a round.
        prepare: for a round of one seed, the call a user would wait for: this is what is timed.
        fingerprint: changes when the method does; for a policy its weights.
        given: labelled points it starts from. The number of points in all is the same for every method, so
            one that is given more chooses fewer.
    """

    name: str
    choose: Callable[[Round], np.ndarray]
    prepare: Callable[[Round], Callable[[], object]]
    fingerprint: str = ""
    given: int = 1


def generator(task: str, seed: int, *purpose: str | int) -> np.random.Generator:
    """A stream of random numbers of its own for every task, seed and purpose."""
    names = [zlib.crc32(part.encode()) if isinstance(part, str) else part for part in (task, *purpose)]
    return np.random.default_rng([seed, *names])


def baselines() -> dict[str, Method]:
    """The methods that need no policy."""
    choices: dict[str, Callable[[Round], np.ndarray]] = {
        "gp-al": functools.partial(_gp_al, "gp-al", acquisition.entropy),
        "gp-al-variance": functools.partial(_gp_al, "gp-al-variance", acquisition.integrated_variance),
        "maximin": _maximin,
        "sobol": _sobol,
        "random": _random,
    }
    return {
        name: Method(name, choose, lambda state, choose=choose: lambda: choose(state))
        for name, choose in choices.items()
    }


def _random(state: Round) -> np.ndarray:
    """Uniform in the cube, or uniform among the unlabelled points of the pool."""
    rows = []
    for i, seed in enumerate(state.seeds):
        random = generator(state.task.name, seed, "random", state.step)
        if state.available is None:
            rows.append(random.random(state.task.dim))
        else:
            rows.append(state.task.test_x[random.choice(np.flatnonzero(state.available[i]))])
    return np.stack(rows)


def _sobol(state: Round) -> np.ndarray:
    """The next point of a scrambled Sobol sequence."""
    power = state.x.shape[1].bit_length()
    sequences = (_sobol_sequence(state.task.name, state.task.dim, seed, power) for seed in state.seeds)
    return np.stack([sequence[state.step - 1] for sequence in sequences])


@functools.cache
def _sobol_sequence(task: str, dim: int, seed: int, power: int) -> np.ndarray:
    return qmc.Sobol(dim, rng=generator(task, seed, "sobol")).random_base2(power)


def _maximin(state: Round) -> np.ndarray:
    """The candidate farthest from its nearest labelled point."""
    candidates, available = _candidates("maximin", state)
    distance = np.full(available.shape, np.inf)
    for i in np.flatnonzero(state.mask[0]):
        distance = np.minimum(distance, np.square(candidates - state.x[:, None, i]).sum(-1))
    best = np.where(available, distance, -1).argmax(1)
    return candidates[np.arange(len(best)), best]


def _gp_al(name: str, score: Callable, state: Round) -> np.ndarray:
    """Refit the model, score the candidates, take the best."""
    candidates, available = _candidates(name, state)
    best = acquisition.select(score, state.x, state.y, state.mask, candidates, available)
    return candidates[np.arange(len(best)), best]


def _candidates(name: str, state: Round) -> tuple[np.ndarray, np.ndarray]:
    """Fresh uniform points or the whole pool ``[S, m, D]``, and which of them may be taken ``[S, m]``."""
    if state.available is not None:
        pool = np.broadcast_to(state.task.test_x, (len(state.seeds), *state.task.test_x.shape))
        return pool, state.available
    shape = (CANDIDATES, state.task.dim)
    streams = [generator(state.task.name, seed, name, state.step) for seed in state.seeds]
    candidates = np.stack([stream.random(shape) for stream in streams])
    return candidates, np.ones(candidates.shape[:2], bool)


def from_function(name: str, function: Callable[[History], object], fingerprint: str = "") -> Method:
    """Any callable that takes a history and returns the next input ``[D]`` in the unit cube.

    The history has room for all points of the run, so that a compiled callable compiles once; those measured
    are ``history.x[history.mask]`` and ``history.y[history.mask]``.
    """

    def one(state: Round, i: int) -> np.ndarray:
        x = np.asarray(function(History(state.x[i], state.y[i], state.mask[i])), float)
        if x.shape != (state.task.dim,) or not ((x >= 0) & (x <= 1)).all():
            task = state.task
            raise ValueError(
                f"--method {name} must return {task.dim} numbers from 0 to 1 on {task.name}, got {x}."
            )
        return x

    def choose(state: Round) -> np.ndarray:
        return np.stack([one(state, i) for i in range(len(state.seeds))])

    return Method(name, choose, lambda state: lambda: one(state, 0), fingerprint)


def from_policy(name: str, policy: Policy, blind: bool = False) -> Method:
    """A trained policy; a blind one is fed y = 0."""

    def history(x, y, mask) -> History:
        y = np.zeros_like(y) if blind else y
        return History(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32), jnp.asarray(mask))

    def choose(state: Round) -> np.ndarray:
        many = history(state.x, state.y, state.mask)
        if state.available is None:
            return np.asarray(_propose_many(policy, many), float)
        pool = jnp.asarray(state.task.test_x, jnp.float32)
        rows = _propose_rows(policy, many, pool, jnp.asarray(state.available))
        return state.task.test_x[np.asarray(rows)]

    def prepare(state: Round):
        one = history(state.x[0], state.y[0], state.mask[0])
        if state.available is None:
            return lambda: propose(policy, one).block_until_ready()
        pool, available = jnp.asarray(state.task.test_x, jnp.float32), jnp.asarray(state.available[0])
        return lambda: propose_from_pool(policy, one, pool, available).block_until_ready()

    return Method(name, choose, prepare, fingerprint(policy) + ("-blind" if blind else ""))


_propose_many = jax.jit(jax.vmap(propose, in_axes=(None, 0)))
_propose_rows = jax.jit(jax.vmap(propose_from_pool, in_axes=(None, 0, None, 0)))
