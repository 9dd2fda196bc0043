"""Training of the judge: simulated experiments of every kind, and what each of their queries did to the
error.

The judge plays whole experiments. The loss of one is the expected squared error of the belief's mean after
its last query, given the data and under the true kernel. Its gradient goes to each query and from there
through the score of that query's own step, never through time: where later queries are near their best, what
an earlier one changes in them does not matter to first order. So nothing explodes, and a step costs little
more than its rollout.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from alx.belief import MEAN, PRIOR_SQUARE, Bank, Belief, add, empty, evidence
from alx.gp import algebra
from alx.gp.kernels import correlation
from alx.network.judge import JudgeConfig
from alx.network.policy import Params, PolicyConfig
from alx.network.sight import Scene
from alx.propose import look, soften
from alx.train.forms import Form, draw_form, evaluate, standardise
from alx.train.posterior import posterior
from alx.train.prior import PRIORS, Prior
from alx.train.rollout import Trajectory
from alx.train.serial import LogUniform
from alx.train.simulate import Batch, Simulation, observe
from alx.train.simulate import simulate as simulate_functions

__all__ = [
    "Case",
    "GeneralConfig",
    "Shape",
    "chunk_gradient",
    "default",
    "losses",
    "measure",
    "play",
    "simulate",
    "truth",
]

HELD_OUT = 64  # places at which the error is measured
FITTED = 12  # kernels of the belief in the loss
SHARPNESS = (
    1.5  # power of their evidence there: users fit by maximum likelihood, which is sharper than a mean
)
FEWEST = 3.0  # degrees of freedom of heavy-tailed noise
LARGEST = 1.0  # norm of the gradient to one query; no single one drowns the others


RANGES = ("dim", "T", "n_init")
LARGEST_SIZE = 40  # points in simulated experiments; more of them cost much and teach little more
JUDGE = JudgeConfig()
PRIOR = dataclasses.replace(PRIORS["unit"], lengthscale=LogUniform(0.08, 4.0))  # what the bank covers


class Shape(NamedTuple):
    """Experiments that are compiled together: number of inputs, and of points at the end."""

    dim: int
    capacity: int


@dataclasses.dataclass(frozen=True)
class GeneralConfig:
    """All that decides the result of training a judge. A range is its least and its greatest number.

    Attributes:
        dim: number of inputs, or a range.
        T: number of queries, or a range.
        n_init: number of points given before the first query, or a range.
        judge: the network.
        prior: where kernels and noise come from.
        forms: share of experiments whose function no kernel drew, see `alx.train.forms`.
        outliers: share of experiments whose noise has heavy tails.
        start: a shipped name or a policy file, from whose weights to start; None: fresh ones.
        batch: experiments in a step.
        chunk: experiments that are played together; all of them start with the same number of points.
        steps: how many steps for the judge.
        deviation_steps: how many more for the calibrated deviation.
        lr: initial learning rate.
        decay: what is left of the learning rate after every 50 steps of the judge; it falls as far for the
            deviation.
        clip: largest global norm of a gradient.
        seed: seed of everything random.
    """

    dim: tuple[int, ...]
    T: tuple[int, ...]
    n_init: tuple[int, ...] = (1,)
    judge: JudgeConfig = JUDGE
    prior: Prior = PRIOR
    forms: float = 0.4
    outliers: float = 0.08
    start: str | None = None
    batch: int = 128
    chunk: int = 32
    steps: int = 300
    deviation_steps: int = 300
    lr: float = 2e-3
    decay: float = 0.6
    clip: float = 1.0
    seed: int = 0

    def __post_init__(self):
        for name, least in (("dim", 1), ("T", 1), ("n_init", 0)):
            value = getattr(self, name)
            if not (1 <= len(value) <= 2 and least <= min(value) and list(value) == sorted(value)):
                raise ValueError(
                    f"{name} must be a whole number of at least {least}, or two, LOW HIGH, got {value}"
                )
        for name, least in (("batch", 1), ("chunk", 1), ("steps", 0), ("deviation_steps", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name in ("lr", "clip"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be a positive number, got {getattr(self, name)}")
        for name in ("forms", "outliers"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be a share between 0 and 1, got {getattr(self, name)}")
        if not 0 < self.decay <= 1:
            raise ValueError(f"decay must be above 0 and at most 1, got {self.decay}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be between 0 and 2^32 - 1, got {self.seed}")

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of a range a few numbers stand for all: the steps take turns, and each is compiled."""
        dims = _some(self.dim[0], self.dim[-1], 4)
        # Even the smallest has room for as many given points as queries, where so many may be given.
        least = self.T[0] + max(self.n_init[0], min(self.T[0], self.n_init[-1]))
        sizes = _some(least, min(self.T[-1] + self.n_init[-1], max(least, LARGEST_SIZE)), 3)
        return tuple(Shape(d, size) for size in sizes for d in dims)

    @property
    def judge_shapes(self) -> tuple[Shape, ...]:
        """Those the judge is trained on: with one input a function is known long before so many points."""
        largest = self.shapes[-1].capacity
        few = tuple(shape for shape in self.shapes if shape.dim > 1 or shape.capacity < largest)
        return few or self.shapes

    def to_json(self) -> dict[str, Any]:
        """What makes the same config again, in another process."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        ranges = {name: list(fields[name]) for name in RANGES}
        return fields | ranges | {"judge": dataclasses.asdict(self.judge), "prior": self.prior.to_json()}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "GeneralConfig":
        """The inverse of `to_json`."""
        ranges: dict[str, Any] = {name: tuple(fields[name]) for name in RANGES}
        made: dict[str, Any] = {
            "judge": JudgeConfig(**fields["judge"]),
            "prior": Prior.from_json(fields["prior"]),
        }
        return cls(**(fields | ranges | made))


def _some(low: int, high: int, number: int) -> list[int]:
    """At most so many whole numbers from low to high, evenly by their ratios."""
    return sorted({round(low * (high / low) ** (i / max(number - 1, 1))) for i in range(number)})


def default(dim: tuple[int, ...], T: tuple[int, ...], n_init: tuple[int, ...] = (1,)) -> GeneralConfig:
    """What alx trains unless told otherwise; ranges take longer."""
    ranges = any(len(each) > 1 for each in (dim, T, n_init))
    return with_steps(GeneralConfig(dim, T, n_init), 1200 if ranges else 300)


def with_steps(config: GeneralConfig, steps: int) -> GeneralConfig:
    """With another number of steps, at the end of which a twentieth of the learning rate is left."""
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    return dataclasses.replace(config, steps=steps, deviation_steps=steps, decay=0.05 ** (50 / steps))


class Start(NamedTuple):
    """What the learner of an experiment starts with: points, and outputs on a scale that is not quite
    standard.
    """

    given: Array  # how many points, [] for all experiments of a chunk
    scale: Array  # [B]
    shift: Array  # [B]


def draw_start(key: Array, config: GeneralConfig, shape: Shape, batch: int) -> Start:
    """A third start with a single point, or as few as there may be; the others with up to two thirds of
    all.
    """
    low, high = config.n_init[0], config.n_init[-1]
    high = max(min(high, 2 * shape.capacity // 3, shape.capacity - config.T[0]), low)
    keys = jax.random.split(key, 4)
    several = jax.random.randint(keys[0], (), low, high + 1)
    given = jnp.where(jax.random.uniform(keys[1]) < 0.35, jnp.clip(1, low, high), several)
    # Users do not know the mean and scale of their outputs, and learners estimate them from few.
    scale = jnp.exp(0.3 * jax.random.normal(keys[2], (batch,)))
    return Start(given, scale, 0.3 * scale * jax.random.normal(keys[3], (batch,)))


class Case(NamedTuple):
    """Experiments to be played, on the trailing axis.

    Attributes:
        simulation: functions of the prior, points, noise and held-out places.
        form: functions that no kernel drew.
        formed: which experiments have the latter ``[B]``.
        exact: for which the kernel and Gaussian noise are the whole truth ``[B]``.
        start: what their learners start with.
    """

    simulation: Simulation
    form: Form
    formed: Array
    exact: Array
    start: Start


def simulate(key: Array, config: GeneralConfig, shape: Shape, batch: int) -> Case:
    """Experiments of every kind; the given points of some lie in a corner."""
    keys = iter(jax.random.split(key, 9))
    size = PolicyConfig(shape.dim, shape.capacity - 1, 1)
    simulation = simulate_functions(next(keys), next(keys), config.prior, size, Batch(batch))
    start = draw_start(next(keys), config, shape, batch)
    corner = 0.6 * jax.random.uniform(next(keys), (shape.dim, 1, batch)) + 0.4 * simulation.x
    some = jax.random.uniform(next(keys), (batch,)) < 0.15
    formed = jax.random.uniform(next(keys), (batch,)) < config.forms
    wild = jax.random.uniform(next(keys), (batch,)) < config.outliers
    # Normal noise over the root of a chi-square is Student t.
    tails = jnp.sqrt(FEWEST / (2 * jax.random.gamma(next(keys), FEWEST / 2, simulation.noise.shape)))
    form = standardise(draw_form(next(keys), shape.dim, batch), simulation.grid)
    simulation = simulation._replace(
        x=jnp.where(some, corner, simulation.x),
        noise=simulation.noise * jnp.where(wild, tails, 1.0),
        f_grid=jnp.where(formed, evaluate(form, simulation.grid), simulation.f_grid),
    )
    return Case(simulation, form, formed, ~(formed | wild), start)


def measure(config: GeneralConfig, case: Case, x: Array, noise: Array) -> Array:
    """What learners are told of points ``x [D, n, B]`` with noise ``[n, B]``, on their own scales."""
    y = observe(config.prior, case.simulation, x, noise)
    y = jnp.where(case.formed, evaluate(case.form, x) + noise, y)
    return case.start.scale * y + case.start.shift


def truth(case: Case) -> Array:
    """The function at the held-out places ``[HELD_OUT, B]``, on the learners' scales."""
    return case.start.scale * case.simulation.f_grid[:HELD_OUT] + case.start.shift


class Played(NamedTuple):
    """Simulations to their end: queries ``[N, B, D]``, what the judge saw before each, and the belief ``[B,
    ...]``.
    """

    x: Array
    scenes: Scene
    places: Array
    belief: Belief


def play(params: Params, config: GeneralConfig, shape: Shape, case: Case) -> Played:
    """Let the judge make all queries after the given points."""
    dim, capacity = shape
    simulation, given = case.simulation, case.start.given
    batch = simulation.x.shape[-1]

    def query(belief: Belief, count: Array):
        return jax.vmap(lambda one: look(params, config.judge, one, capacity - count))(belief)

    def step(belief: Belief, count: Array):
        blank = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(query, belief, count))
        scene, places = jax.lax.cond(count < given, lambda *_: blank, query, belief, count)
        x = jax.vmap(lambda s, p: soften(params, config.judge, s, p))(scene, places)
        x = jnp.where(count < given, simulation.x[:, count].T, x)
        y = measure(config, case, x.T[:, None], simulation.noise[count][None])[0]
        return jax.vmap(add)(belief, x, y), (x, scene, places)

    first = jax.vmap(lambda _: empty(capacity, dim))(jnp.arange(batch))
    belief, (x, scenes, places) = jax.lax.scan(step, first, jnp.arange(capacity))
    return Played(x, scenes, places, belief)


def best_kernels(belief: Belief) -> Bank:
    """The kernels of the bank that the loss mixes, with fields ``[FITTED, ...]``."""
    log_evidence, _ = evidence(belief)
    best = jax.lax.top_k(log_evidence, FITTED)[1]
    return Bank(*(field[best] for field in belief.kernels))


def fitted_mean(kernels: Bank, x: Array, y: Array, at: Array) -> Array:
    """The mean of a mixture of kernels ``[F, ..., B]`` at ``at [D, m, B]`` given ``x [D, n, B]``, ``y [n,
    B]``.
    """

    def covariance(a: Array, b: Array) -> Array:
        pairs = zip(a, b, jnp.moveaxis(kernels.lengthscale, 1, 0), strict=True)
        square = sum(jnp.square((p[:, None] - q[None])[:, :, None] / scale) for p, q, scale in pairs)
        return correlation(jnp.asarray(square), kernels.rough) + MEAN

    n = len(y)
    eye = jnp.eye(n)[..., None, None]
    outputs = jnp.broadcast_to(y[:, None], (n, *kernels.noise.shape))
    weights, log_det = algebra.solve(covariance(x, x) + kernels.noise * eye, outputs)
    square = (outputs * weights).sum(0) + PRIOR_SQUARE
    share = jax.nn.softmax(-0.5 * SHARPNESS * ((n + 1) * jnp.log(square) + log_det), axis=0)
    return ((covariance(x, at) * weights[:, None]).sum(0) * share).sum(1)


def losses(config: GeneralConfig, case: Case, kernels: Bank, x: Array) -> Array:
    """log of the squared error ``[B]`` after the points ``x [N, B, D]``, theta unknown to the learner.

    It is the expected one given the data where the true kernel says that, else that of the function itself.
    """
    x = jnp.moveaxis(x, 2, 0)
    simulation, (_, scale, shift) = case.simulation, case.start
    y = measure(config, case, x, simulation.noise[: x.shape[1]])
    at = simulation.grid[:, :HELD_OUT]
    trajectory = Trajectory(x, (y - shift) / scale, jnp.ones((x.shape[1], 1), bool), x.shape[1])
    mean, variance, _ = posterior(config.prior, simulation.theta, trajectory, at)
    fitted = (fitted_mean(kernels, x, y, at) - shift) / scale
    expected = variance + jnp.square(mean - fitted)
    return jnp.log(jnp.where(case.exact, expected, jnp.square(simulation.f_grid[:HELD_OUT] - fitted)).mean(0))


def chunk_gradient(params: Params, config: GeneralConfig, shape: Shape, key: Array) -> tuple[Array, Params]:
    """The mean loss of a chunk of experiments, and its gradient."""
    case = simulate(key, config, shape, config.chunk)
    played = play(jax.lax.stop_gradient(params), config, shape, case)
    kernels = jax.tree.map(lambda a: jnp.moveaxis(a, 0, -1), jax.vmap(best_kernels)(played.belief))
    loss, pull = jax.vjp(lambda x: losses(config, case, kernels, x), played.x)
    (g,) = pull(jnp.ones_like(loss))
    g = g / jnp.maximum(1, jnp.sqrt(jnp.square(g).sum(-1, keepdims=True)) / LARGEST)
    g = jnp.where((jnp.arange(shape.capacity) < case.start.given)[:, None, None], 0, g) / config.chunk

    def queries(params):
        one = jax.vmap(jax.vmap(lambda s, p: soften(params, config.judge, s, p)))
        return one(played.scenes, played.places)

    return loss.mean(), jax.vjp(queries, params)[1](g)[0]
