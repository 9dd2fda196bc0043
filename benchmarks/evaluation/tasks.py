"""The tasks: unknown functions on the unit cube, standardised, and pools of measured data.

A task of your own is a function that returns ``from_box(...)`` or ``from_pool(...)``, and is named as
``--task module:function``.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import qmc

from benchmarks.evaluation import data

__all__ = [
    "TASKS",
    "Task",
    "Units",
    "branin",
    "from_box",
    "from_csv",
    "from_function",
    "from_pool",
    "simionescu",
    "sin",
    "townsend",
]

Function = Callable[[np.ndarray], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Units:
    """A task's own units: inputs are ``low + x (high - low)``, outputs ``mean + sd y``.

    Methods and tables work in the unit cube with standardised outputs; pictures and `alx.Learner`, which is
    told what a user would tell it, in these.

    Attributes:
        low: of every input, with ``high``.
        mean: of the outputs, with ``sd``.
        inputs: their names.
        output: its name.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    mean: float = 0.0
    sd: float = 1.0
    inputs: tuple[str, ...] = ()
    output: str = "y"

    def x(self, unit: np.ndarray) -> np.ndarray:
        """Inputs ``[..., D]`` from those in the unit cube."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        return low + unit * (high - low)

    def y(self, standardised: np.ndarray) -> np.ndarray:
        """Outputs from standardised ones."""
        return self.mean + self.sd * standardised

    @property
    def names(self) -> tuple[str, ...]:
        """A name for every input."""
        count = len(self.low)
        return self.inputs or (("x",) if count == 1 else tuple(f"x{d + 1}" for d in range(count)))


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
        units: those of the inputs and the output.
    """

    name: str
    noise: float
    truth: Function | None
    test_x: np.ndarray
    test_y: np.ndarray
    units: Units

    @property
    def dim(self) -> int:
        return self.test_x.shape[1]

    @property
    def is_pool(self) -> bool:
        """Whether only the points of ``test_x`` can be queried."""
        return self.truth is None

    @property
    def fingerprint(self) -> str:
        """Changes with anything that the task's numbers depend on."""
        content = self.test_x.tobytes() + self.test_y.tobytes() + repr(self.noise).encode()
        return hashlib.sha256(content).hexdigest()[:12]


def sin(x: np.ndarray) -> np.ndarray:
    """sin(20 x)."""
    return np.sin(20 * x[:, 0])


def branin(x: np.ndarray) -> np.ndarray:
    """a (x2 - b x1^2 + c x1 - r)^2 + s (1-t) cos(x1) + s on [-5, 10] x [0, 15]."""
    x1, x2 = BRANIN.x(x).T
    a, b, c, r, s, t = 1, 5.1 / (4 * np.pi**2), 5 / np.pi, 6, 10, 1 / (8 * np.pi)
    return a * (x2 - b * x1**2 + c * x1 - r) ** 2 + s * (1 - t) * np.cos(x1) + s


def simionescu(x: np.ndarray) -> np.ndarray:
    """0.1 x1 x2 on [-1.25, 1.25]^2."""
    x1, x2 = SIMIONESCU.x(x).T
    return 0.1 * x1 * x2


def townsend(x: np.ndarray) -> np.ndarray:
    """-cos^2((x1 - 0.1) x2) - x1 sin(3 x1 + x2) on [-2.25, 2.25] x [-2.5, 1.75]."""
    x1, x2 = TOWNSEND.x(x).T
    return -(np.cos((x1 - 0.1) * x2) ** 2) - x1 * np.sin(3 * x1 + x2)


BRANIN = Units((-5, 0), (10, 15))
SIMIONESCU = Units((-1.25, -1.25), (1.25, 1.25))
TOWNSEND = Units((-2.25, -2.5), (2.25, 1.75))
AIRLINE = Units((1949.0,), (1960 + 11 / 12,), inputs=("year",), output="passengers [1000]")
LGBB = Units((0, -5), (6, 30), inputs=("Mach", "angle of attack"), output="lift")


def from_function(
    name: str,
    dim: int,
    truth: Function,
    noise: float = 0.1,
    standardise: bool = True,
    units: Units | None = None,
) -> Task:
    """A function of x in the unit cube that can be queried anywhere, z-scored with samples of its own."""
    samples = truth(qmc.Sobol(dim, rng=0).random(2**14)) if standardise else np.array([-1.0, 1.0])
    mean, sd = samples.mean(), samples.std()
    test_x = qmc.Sobol(dim, rng=1).random(2**10)

    def standardised(x: np.ndarray) -> np.ndarray:
        return (truth(x) - mean) / sd

    own = _scaled(units or Units((0.0,) * dim, (1.0,) * dim), mean, sd)
    return Task(name, noise, standardised, test_x, standardised(test_x), own)


def from_box(name: str, bounds, function: Function, noise: float = 0.1, **names) -> Task:
    """A function of x ``[m, D]`` within ``bounds``, a (low, high) pair for each input, in units of its own.

    The noise is in standard deviations of the function over the box; ``inputs`` and ``output`` may be named.
    """
    low, high = (tuple(map(float, side)) for side in zip(*bounds, strict=True))
    units = Units(low, high, **names)
    return from_function(name, len(low), lambda x: function(units.x(x)), noise, units=units)


def from_pool(name: str, x: np.ndarray, y: np.ndarray, noise: float = 0.0, **names) -> Task:
    """Measured points ``x [N, D]``, ``y [N]`` in units of their own; only these can be queried, each once."""
    low, high = x.min(0), x.max(0)
    units = Units(tuple(low.tolist()), tuple(high.tolist()), **names)
    return _pool(name, (x - low) / (high - low), y, units, noise)


def _pool(name: str, x: np.ndarray, y: np.ndarray, units: Units, noise: float = 0.0) -> Task:
    """A pool whose inputs are in the unit cube already; z-scored."""
    return Task(name, noise, None, x, (y - y.mean()) / y.std(), _scaled(units, y.mean(), y.std()))


def _scaled(units: Units, mean, sd) -> Units:
    return dataclasses.replace(units, mean=float(mean), sd=float(sd))


def from_csv(path: Path, target: str | None) -> Task:
    """A pool from a user's CSV file."""
    x, y, names = data.table(path, target)
    return from_pool(path.stem, x, y, inputs=names, output=target)


TASKS: dict[str, Callable[[Path | None], Task]] = {
    "sin": lambda _: from_function("sin", 1, sin, standardise=False),
    "airline": lambda _: _pool("airline", *data.airline(), AIRLINE),
    "branin": lambda _: from_function("branin", 2, branin, units=BRANIN),
    "simionescu": lambda _: from_function("simionescu", 2, simionescu, units=SIMIONESCU),
    "townsend": lambda _: from_function("townsend", 2, townsend, units=TOWNSEND),
    "lgbb": lambda data_dir: _pool("lgbb", *data.lgbb(data_dir), LGBB, noise=0.01),
}
TASKS = {name: functools.cache(make) for name, make in TASKS.items()}
