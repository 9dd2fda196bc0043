"""How methods are compared: paired seeds, the same model for all, an RMSE after every query.

For one seed all methods have the same number of points, start from the same labelled one, meet the same noise
in the same order, and are judged on the same test points by the same GP, fitted to what each has measured.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.evaluation import gp_model
from benchmarks.evaluation.methods import Method, Round, generator
from benchmarks.evaluation.tasks import Task

__all__ = [
    "N_INIT",
    "SEEDS_TOGETHER",
    "default_budget",
    "errors",
    "fingerprint",
    "judged",
    "learning_curve",
    "queries",
    "run",
]

VERSION = 1  # raise it when a change here changes numbers
N_INIT = 1
# Seeds always run in groups of this size, padded if need be: the last bits of a result can depend on the
# shape of the arrays, and a row must not depend on how many seeds were asked for.
SEEDS_TOGETHER = gp_model.BLOCK
TIMED = SEEDS_TOGETHER  # the first seeds are timed; the times of others are much the same


def default_budget(dim: int) -> int:
    """10 queries for each input, as in the paper, but no more than 30."""
    return 10 * min(dim, 3)


def judged(dim: int, size: int) -> list[int]:
    """After how many points the model is fitted and judged: all, or every fifth where fits take long."""
    return [n for n in range(1, size + 1) if dim < 3 or n % 5 == 1 or n == size]


def fingerprint(task: Task, method: Method, budget: int) -> str:
    """Rows with the same fingerprint, task, method and seed are the same experiment."""
    parts = (VERSION, method.given, budget, task.name, task.fingerprint, method.name, method.fingerprint)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def run(task: Task, method: Method, seeds: Sequence[int], budget: int) -> list[dict[str, Any]]:
    """One row per seed, in order: its points, the RMSE after as many of them as were judged, the times."""
    padded = [*seeds, *[seeds[0]] * (SEEDS_TOGETHER - len(seeds))]
    x, y = queries(task, method, padded, budget)
    counts = judged(task.dim, y.shape[1])
    rmse = learning_curve(task, x, y, counts)
    timed = [seed for seed in seeds if seed < TIMED]
    seconds, compile_seconds = _query_seconds(task, method, timed, x, y)
    return [
        {
            "task": task.name,
            "method": method.name,
            "seed": int(seed),
            "fingerprint": fingerprint(task, method, budget),
            "judged": counts,
            "rmse": rmse[i].tolist(),
            "query_seconds": seconds[i].tolist() if i < len(timed) else [],
            "compile_seconds": compile_seconds,
            "x": x[i].tolist(),
            "y": y[i].tolist(),
        }
        for i, seed in enumerate(seeds)
    ]


def queries(task: Task, method: Method, seeds: Sequence[int], budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs ``[S, N_INIT + budget, D]`` and labels: the given points, then the queries in order."""
    count, size = len(seeds), N_INIT + budget
    x, y = np.zeros((count, size, task.dim)), np.zeros((count, size))
    noise = task.noise * np.stack([generator(task.name, s, "noise").standard_normal(size) for s in seeds])
    starts = [generator(task.name, s, "start").random((method.given, task.dim)) for s in seeds]
    if task.is_pool:
        draws = [
            generator(task.name, s, "start").permutation(len(task.test_x))[: method.given] for s in seeds
        ]
        starts = [task.test_x[draw] for draw in draws]
    available = np.ones((count, len(task.test_x)), bool) if task.is_pool else None
    for step in range(size):
        if step < method.given:
            proposal = np.stack([start[step] for start in starts])
        else:
            proposal = method.choose(_round(task, method, seeds, x, y, step, available))
        x[:, step], y[:, step] = _label(task, proposal, available)
        y[:, step] += noise[:, step]
    return x, y


def _round(task: Task, method: Method, seeds: Sequence[int], x, y, filled: int, available) -> Round:
    mask = np.broadcast_to(np.arange(x.shape[1]) < filled, y.shape)
    x, y = np.where(mask[..., None], x, 0), np.where(mask, y, 0)
    step = filled - method.given + 1
    return Round(task, step, seeds, x, y, mask, None if available is None else available.copy())


def _label(task: Task, proposal: np.ndarray, available: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """What is measured ``[S, D]`` and its noise-free value; in a pool it takes the nearest free point."""
    if task.truth is not None:
        return proposal, task.truth(proposal)
    assert available is not None
    distance = np.square(task.test_x[None] - proposal[:, None]).sum(-1)
    nearest = np.where(available, distance, np.inf).argmin(1)
    available[np.arange(len(nearest)), nearest] = False
    return task.test_x[nearest], task.test_y[nearest]


def learning_curve(task: Task, x: np.ndarray, y: np.ndarray, counts: Sequence[int]) -> np.ndarray:
    """RMSE ``[S, k]`` of the model fitted to the first points of ``x [S, n, D]``, ``y [S, n]``, as many as
    each of the k ``counts`` says."""
    prefixes = np.arange(y.shape[1]) < np.asarray(counts)[:, None]
    repeat = len(counts)
    rmse = errors(task, np.repeat(x, repeat, 0), np.repeat(y, repeat, 0), np.tile(prefixes, (len(y), 1)))
    return rmse.reshape(len(y), repeat)


def errors(task: Task, x: np.ndarray, y: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """RMSE ``[B]`` of the model fitted to each of B data sets ``x [B, n, D]``, ``y`` and ``mask [B, n]``."""
    theta, _ = gp_model.fit_many(x, y, mask)
    rmse = []
    with jax.enable_x64(True):
        test_x, test_y = jnp.asarray(task.test_x), jnp.asarray(task.test_y)
        for i in range(0, len(y), SEEDS_TOGETHER):
            part = slice(i, i + SEEDS_TOGETHER)
            rmse.append(np.asarray(_rmse(theta[part], x[part], y[part], mask[part], test_x, test_y)))
    return np.concatenate(rmse)


@jax.jit
def _rmse(theta, x, y, mask, test_x, test_y):
    posterior = gp_model.condition(theta.T, x.T, y.T, mask.T)
    mean, _ = gp_model.predict(posterior, jnp.broadcast_to(test_x.T[..., None], (*test_x.T.shape, len(y))))
    return jnp.sqrt(jnp.square(mean - test_y[:, None]).mean(0))


def _query_seconds(task: Task, method: Method, seeds, x, y) -> tuple[np.ndarray, float]:
    """Seconds per selection ``[S, T]`` of one experiment at a time on the recorded data, and of compiling.

    Labelling and refitting after the last query are not part of it.
    """
    seconds = np.zeros((len(seeds), x.shape[1] - method.given))
    first = 0.0
    for i, seed in enumerate(seeds):
        available = np.ones((1, len(task.test_x)), bool) if task.is_pool else None
        for filled in range(x.shape[1]):
            if filled >= method.given:
                one = (x[i : i + 1], y[i : i + 1])
                call = method.prepare(_round(task, method, [seed], *one, filled, available))
                if i == 0 and filled == method.given:
                    first = _seconds(call)
                seconds[i, filled - method.given] = _seconds(call)
            _label(task, x[i : i + 1, filled], available)
    return seconds, max(first - float(seconds[0, 0]), 0.0) if seeds else 0.0


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
