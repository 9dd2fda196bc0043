"""How much of what can be gained does a policy gain in simulation? python -m benchmarks.studies.clairvoyant

The mark is a greedy learner that knows the true kernel, as no user does: of 128 places it takes the one whose
label lowers the true integrated variance most. All start from the same given points of the same simulated
functions, meet the same noise, and are judged by the belief: the log of the expected squared error of its
mean, given the data and under the true kernel, less that of a Sobol design. The share of the gain is the
policy's difference over the clairvoyant's.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.stats import qmc

import alx
from alx.gp import algebra
from alx.io.store import GENERAL
from alx.network.policy import Policy, PolicyConfig
from alx.train import covariance as kernels
from alx.train import simulate as simulation
from alx.train.posterior import gram, posterior
from alx.train.prior import PRIORS, Theta
from alx.train.rollout import Trajectory
from alx.train.simulate import Batch, Simulation
from benchmarks.evaluation.methods import generator
from benchmarks.evaluation.statistics import standard_error
from benchmarks.studies import command
from benchmarks.studies.regimes import methods_of
from benchmarks.studies.regimes_methods import REGIMES, Choose, Regime, State, sobol, unfold

__all__ = ["PRIOR", "belief_mean", "clairvoyant", "compare", "errors", "reduction", "share", "simulate"]

PRIOR = PRIORS["general"]
PLACES, GRID = 128, 128
Mean = Callable[[Array, Array, Array], Array]
TOGETHER = 50  # experiments at a time, for the bank of kernels of each takes memory


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Compare a policy in simulation with a learner that knows the true kernel.

    Attributes:
        policy: a shipped name or a policy file.
        dims: numbers of inputs.
        regimes: given:queries, of those `benchmarks.studies.regimes` knows, but for corners.
        functions: simulated functions for each of them.
        seed: seed of the functions.
    """

    policy: str = GENERAL
    dims: tuple[int, ...] = (1, 2, 3, 5)
    regimes: tuple[str, ...] = ("1:10", "4:8", "1:20", "8:12", "15:25")
    functions: int = 200
    seed: int = 0


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def simulate(dim: int, regime: Regime, functions: int, seed: int) -> Simulation:
    """Simulations with kernels of their own, on the trailing axis."""
    key = jax.random.fold_in(jax.random.key(seed), 100 * dim + regime.size)
    config = PolicyConfig(dim, regime.queries, regime.given)
    key_kernel, key = jax.random.split(key)
    return simulation.simulate(key_kernel, key, PRIOR, config, Batch(functions))


def reduction(theta: Theta, x: Array, mask: Array, places: Array, grid: Array) -> Array:
    """By how much a label at each of ``places [D, m, B]`` lowers the mean variance over ``grid [D, g, B]``.

    That is the mean over g of cov(c, g)^2 / (var(c) + s2), given points ``x [D, n, B]``, ``mask [n, B]``.
    """
    cross = kernels.covariance(PRIOR, theta, x, jnp.concatenate([places, grid], axis=1))
    trajectory = Trajectory(x, jnp.zeros_like(x[0]), mask, 1)
    white = algebra.factor(gram(PRIOR, theta, trajectory), jnp.where(mask[:, None], cross, 0))[1]
    white_p, white_g = jnp.split(white, [places.shape[1]], axis=1)
    covariance = kernels.covariance(PRIOR, theta, places, grid) - jnp.einsum("nmb,ngb->mgb", white_p, white_g)
    variance = kernels.variance(PRIOR, theta, places) - jnp.square(white_p).sum(0)
    return jnp.square(covariance).mean(1) / (jnp.maximum(variance, 0) + theta.noise)


_reduction = jax.jit(reduction)


def clairvoyant(experiment: Simulation) -> Choose:
    """The greedy learner that knows theta."""

    def choose(state: State) -> np.ndarray:
        mask = np.broadcast_to((np.arange(state.regime.size) < state.filled)[:, None], state.y.T.shape)
        places, grid = _places(state, "places", PLACES), _places(state, "grid", GRID)
        gains = _reduction(experiment.theta, *map(jnp.asarray, (state.x.T, mask, places, grid)))
        return places[:, np.argmax(gains, 0), np.arange(len(state.names))].T

    return choose


def _places(state: State, purpose: str, number: int) -> np.ndarray:
    """A Sobol design ``[D, number, B]``, shifted at random for each experiment and step."""
    random = generator(purpose, state.filled, state.dim)
    design = qmc.Sobol(state.dim, rng=random).random(number).T[..., None]
    return (design + random.random((state.dim, 1, len(state.names)))) % 1


def belief_mean(x: Array, y: Array, at: Array) -> Array:
    """The belief's mean at ``at [m, D]`` given points ``x [n, D]``, ``y [n]``."""
    return alx.predict(alx.believe(alx.History(x, y, jnp.ones(len(y), bool))), at)[0]


def errors(experiment: Simulation, x: np.ndarray, y: np.ndarray, mean: Mean = belief_mean) -> np.ndarray:
    """log of the expected squared error ``[B]`` of a mean, by default the belief's.

    Given points ``x [B, n, D]``, ``y [B, n]``, over the grid that came with the experiment.
    """
    parts = np.split(np.arange(len(y)), range(TOGETHER, len(y), TOGETHER))
    return np.concatenate([_errors(mean, _subset(experiment, part), x[part], y[part]) for part in parts])


def _subset(experiment: Simulation, part: np.ndarray) -> Simulation:
    return jax.tree.map(lambda leaf: leaf[..., part], experiment)


@functools.partial(jax.jit, static_argnums=0)
def _errors(mean: Mean, experiment: Simulation, x: Array, y: Array) -> Array:
    """E[(f - m)^2] = var f + (E f - m)^2."""
    trajectory = Trajectory(x.T, y.T, jnp.ones(y.T.shape, bool), 1)
    true_mean, variance, _ = posterior(PRIOR, experiment.theta, trajectory, experiment.grid)
    off = true_mean - jax.vmap(mean)(x, y, experiment.grid.T).T
    return jnp.log((variance + jnp.square(off)).mean(0))


def compare(
    dim: int, regime: Regime, methods: dict[str, Choose], functions: int, seed: int
) -> dict[str, np.ndarray]:
    """The log error of each method less Sobol's, experiment by experiment."""
    experiment = simulate(dim, regime, functions, seed)
    names = [f"simulated-{seed}-{i}" for i in range(functions)]
    given = np.asarray(experiment.x[:, : regime.given], float).T

    def label(filled: int, x: np.ndarray) -> np.ndarray:
        return np.asarray(_observe(experiment, x.T[:, None], experiment.noise[filled][None])[0], float)

    rows = {
        name: errors(experiment, *unfold(names, given, regime, label, choose))
        for name, choose in {"sobol": sobol, "clairvoyant": clairvoyant(experiment), **methods}.items()
    }
    return {name: row - rows["sobol"] for name, row in rows.items() if name != "sobol"}


_observe = jax.jit(functools.partial(simulation.observe, PRIOR))


def share(gain: np.ndarray, ceiling: np.ndarray) -> tuple[float, float]:
    """Mean gain over mean ceiling, and its standard error (delta method for a ratio of means)."""
    ratio = gain.mean() / ceiling.mean()
    return float(ratio), standard_error(gain - ratio * ceiling) / abs(float(ceiling.mean()))


def line(dim: int, regime: str, gains: dict[str, np.ndarray]) -> str:
    """A line of the table: the gain of each method, then the shares of all but the clairvoyant."""
    ceiling = gains["clairvoyant"]
    cells = [f"{gain.mean():+.3f} ± {standard_error(gain):.3f}" for gain in gains.values()]
    for name, gain in gains.items():
        if name != "clairvoyant":
            ratio, error = share(gain, ceiling)
            cells.append(f"{100 * ratio:.0f} % ± {100 * error:.0f} %")
    return f"| {dim} | {regime} | " + " | ".join(cells) + " |"


def header(methods: Sequence[str]) -> str:
    names = ["clairvoyant", *methods, *(f"share of {name}" for name in methods)]
    return "| D | given:queries | " + " | ".join(names) + " |\n|---|---|" + "---:|" * len(names)


def main() -> int:
    return command.run(Arguments, _prepare, _run)


def _prepare(arguments: Arguments) -> Policy:
    regimes = [name for name, regime in REGIMES.items() if not regime.corner]
    command.known("regimes", arguments.regimes, regimes)
    command.at_least("dims", min(arguments.dims), 1)
    command.at_least("functions", arguments.functions, 2, "for a standard error")
    return alx.load(arguments.policy)


def _run(arguments: Arguments, policy: Policy) -> None:
    methods = {name: choose for name, choose in methods_of(policy).items() if name != "blind"}
    print(header(list(methods)))
    for dim in arguments.dims:
        parts = []
        for name in arguments.regimes:
            parts.append(compare(dim, REGIMES[name], methods, arguments.functions, arguments.seed))
            print(line(dim, name, parts[-1]), flush=True)
        print(line(dim, "all", {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}))


if __name__ == "__main__":
    sys.exit(main())
