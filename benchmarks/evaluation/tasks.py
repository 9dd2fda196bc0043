"""The tasks of the paper: unknown functions on the unit cube, standardised, and pools of measured data.

A new task is one function of ``x [m, D]`` in the unit cube and one line in ``TASKS``.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import qmc

from benchmarks.evaluation import data

__all__ = ["SUITES", "TASKS", "Task", "branin", "from_csv", "from_function", "simionescu", "sin", "townsend"]

Function = Callable[[np.ndarray], np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """What is to be learned.

    Attributes:
        name: its name in tables.
        noise: standard deviation of the noise on every label.
        truth: the noise-free function of x ``[m, D]``; None for a pool.
        test_x: where the model is judged, ``[m, D]``. For a pool that is the whole data set, so that all
            methods are judged on the same points.
        test_y: the noise-free values there.
    """

    name: str
    noise: float
    truth: Function | None
    test_x: np.ndarray
    test_y: np.ndarray

    @property
    def dim(self) -> int:
        return self.test_x.shape[1]

    @property
    def is_pool(self) -> bool:
        """Whether only the points of ``test_x`` can be queried."""
        return self.truth is None

    @property
    def fingerprint(self) -> str:
        """Changes when anything about the task does."""
        content = self.test_x.tobytes() + self.test_y.tobytes() + repr(self.noise).encode()
        return hashlib.sha256(content).hexdigest()[:12]


def sin(x: np.ndarray) -> np.ndarray:
    """sin(20 x)."""
    return np.sin(20 * x[:, 0])


def branin(x: np.ndarray) -> np.ndarray:
    """a (x2 - b x1^2 + c x1 - r)^2 + s (1-t) cos(x1) + s on [-5, 10] x [0, 15]."""
    x1, x2 = _rescale(x, (-5, 0), (10, 15))
    a, b, c, r, s, t = 1, 5.1 / (4 * np.pi**2), 5 / np.pi, 6, 10, 1 / (8 * np.pi)
    return a * (x2 - b * x1**2 + c * x1 - r) ** 2 + s * (1 - t) * np.cos(x1) + s


def simionescu(x: np.ndarray) -> np.ndarray:
    """0.1 x1 x2 on [-1.25, 1.25]^2."""
    x1, x2 = _rescale(x, (-1.25, -1.25), (1.25, 1.25))
    return 0.1 * x1 * x2


def townsend(x: np.ndarray) -> np.ndarray:
    """-cos^2((x1 - 0.1) x2) - x1 sin(3 x1 + x2) on [-2.25, 2.25] x [-2.5, 1.75]."""
    x1, x2 = _rescale(x, (-2.25, -2.5), (2.25, 1.75))
    return -(np.cos((x1 - 0.1) * x2) ** 2) - x1 * np.sin(3 * x1 + x2)


def _rescale(x: np.ndarray, low: tuple[float, ...], high: tuple[float, ...]) -> np.ndarray:
    return (np.asarray(low) + x * (np.asarray(high) - np.asarray(low))).T


def from_function(name: str, dim: int, truth: Function, noise: float = 0.1, standardise: bool = True) -> Task:
    """A task that can be queried anywhere, z-scored with noise-free samples of its own."""
    samples = truth(qmc.Sobol(dim, rng=0).random(2**14)) if standardise else np.array([-1.0, 1.0])
    mean, sd = samples.mean(), samples.std()
    test_x = qmc.Sobol(dim, rng=1).random(2**10)

    def standardised(x: np.ndarray) -> np.ndarray:
        return (truth(x) - mean) / sd

    return Task(name, noise, standardised, test_x, standardised(test_x))


def _pool(name: str, x: np.ndarray, y: np.ndarray, noise: float = 0.0) -> Task:
    """A task of which only the given points can be queried, each once; z-scored."""
    return Task(name, noise, None, x, (y - y.mean()) / y.std())


def from_csv(path: Path, target: str | None) -> Task:
    """A pool from a user's CSV file."""
    return _pool(path.stem, *data.table(path, target))


TASKS: dict[str, Callable[[Path | None], Task]] = {
    "sin": lambda _: from_function("sin", 1, sin, standardise=False),
    "airline": lambda _: _pool("airline", *data.airline()),
    "branin": lambda _: from_function("branin", 2, branin),
    "simionescu": lambda _: from_function("simionescu", 2, simionescu),
    "townsend": lambda _: from_function("townsend", 2, townsend),
    "lgbb": lambda data_dir: _pool("lgbb", *data.lgbb(data_dir), noise=0.01),
}
TASKS = {name: functools.cache(make) for name, make in TASKS.items()}

SUITES = {
    "all": tuple(TASKS),
    "paper-1d": ("sin", "airline"),
    "paper-2d": ("branin", "simionescu", "townsend", "lgbb"),
}
