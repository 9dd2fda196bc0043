"""The trainer of the general policy: the judge first, then the calibrated deviation."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from alx.network.policy import Params, Policy, init
from alx.train import calibrate
from alx.train.general import best_kernels, chunk_gradient, losses, play, simulate
from alx.train.general_config import GeneralConfig, Shape
from alx.train.step import AXIS, EPOCH, State, compiler_options, share

__all__ = ["GeneralTrainer"]

VALIDATION = 2**31 + 1  # a seed that no training has


@dataclasses.dataclass(frozen=True)
class GeneralTrainer:
    """What `alx.train.run` needs, of a `GeneralConfig`."""

    config: GeneralConfig

    @property
    def steps(self) -> int:
        return self.config.steps + self.config.deviation_steps

    @property
    def seed(self) -> int:
        return self.config.seed

    @property
    def start(self) -> str | None:
        return self.config.start

    @property
    def phases(self) -> list[tuple[str, int]]:
        """What is minimised, each up to a step."""
        deviation = [("deviation", self.steps)] if self.config.deviation_steps else []
        return [("error", self.config.steps), *deviation]

    def policy(self, params: Params) -> Policy:
        return Policy(params, self.config.judge)

    def initial_state(self, mesh: Mesh, params: Params | None) -> State:
        params = initial_params(self.config) if params is None else params
        transforms = optimizer(self.config), optimizer(self.config, deviation=True)
        optimizers = tuple(t.init(part) for t, part in zip(transforms, _split(params), strict=True))
        state = State(params, optimizers, jnp.zeros((), jnp.int32))
        return jax.device_put(state, NamedSharding(mesh, PartitionSpec()))

    def make_step(self, mesh: Mesh) -> Callable[[State], tuple[State, dict[str, Array]]]:
        """The steps take turns with the shapes; each is compiled when it is first needed."""
        compiled, shapes = {}, (self.config.judge_shapes, self.config.shapes)

        def step(state: State) -> tuple[State, dict[str, Array]]:
            number = int(state.step)
            deviation = number >= self.config.steps
            which = deviation, shapes[deviation][number % len(shapes[deviation])]
            if which not in compiled:
                compiled[which] = _compile(self.config, mesh, *which)
            return jax.block_until_ready(compiled[which](state))

        return step

    def make_validation(self, mesh: Mesh) -> Callable[[Params], dict[str, float]]:
        """The log error on held-out experiments, and that of the untrained judge on the same."""
        shapes = self.config.judge_shapes[:: -(-len(self.config.judge_shapes) // 2)]
        compiled = [jax.jit(lambda p, shape=shape: _validate(p, self.config, shape)) for shape in shapes]

        def error(params: Params) -> float:
            return float(np.mean([np.asarray(each(params)).mean() for each in compiled]))

        untrained = error(init(jax.random.key(0), self.config.judge))
        return lambda params: {"log_error": error(params), "log_error_untrained": untrained}

    def to_json(self) -> dict[str, Any]:
        return self.config.to_json()

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "GeneralTrainer":
        return cls(GeneralConfig.from_json(fields))


def _split(params: Params) -> tuple[Params, Params]:
    """The judge's own weights, and those of the deviation."""
    return {name: leaf for name, leaf in params.items() if name != "deviation"}, params["deviation"]


def optimizer(config: GeneralConfig, deviation: bool = False) -> optax.GradientTransformation:
    """RAdam with clipped gradients and staircase decay, as far for the deviation, in its own steps."""
    decay = config.decay
    if deviation and config.deviation_steps:
        decay **= config.steps / config.deviation_steps
    schedule = optax.exponential_decay(config.lr, EPOCH, decay, staircase=True)
    return optax.chain(optax.clip_by_global_norm(config.clip), optax.radam(schedule))


def initial_params(config: GeneralConfig) -> Params:
    """Fresh weights, with the place and spread of the features measured on untrained experiments."""
    params = init(jax.random.fold_in(jax.random.key(config.seed), 0), config.judge)
    shapes = config.judge_shapes[:: -(-len(config.judge_shapes) // 3)]
    features = np.concatenate([_features(params, config, shape) for shape in shapes])
    for sight in (params["sight"], params["deviation"]["sight"]):
        sight["shift"] = jnp.asarray(features.mean(0))
        sight["scale"] = jnp.asarray(1 / (features.std(0) + 0.05))
    return params


def _features(params: Params, config: GeneralConfig, shape: Shape) -> np.ndarray:
    """Those of the places before the later queries ``[..., FEATURES]``."""
    half = shape.capacity // 2

    def seen(key: Array) -> Array:
        case = simulate(key, config, shape, config.chunk)
        start = case.start._replace(given=jnp.minimum(case.start.given, half))
        return play(params, config, shape, case._replace(start=start)).scenes.features

    features = np.asarray(jax.jit(seen)(jax.random.key(config.seed)))
    return features[half:].reshape(-1, features.shape[-1])


def _validate(params: Params, config: GeneralConfig, shape: Shape) -> Array:
    case = simulate(jax.random.key(VALIDATION), config, shape, config.chunk)
    played = play(params, config, shape, case)
    kernels = jax.tree.map(lambda a: jnp.moveaxis(a, 0, -1), jax.vmap(best_kernels)(played.belief))
    return losses(config, case, kernels, played.x)


def _deviation_gradient(params: Params, config: GeneralConfig, shape: Shape, key: Array):
    seen = calibrate.examples(params, config, shape, key)
    return jax.value_and_grad(calibrate.loss)(params, config, *seen)


def _compile(config: GeneralConfig, mesh: Mesh, deviation: bool, shape: Shape):
    """A step on experiments of one shape: the devices share its chunks, and their number changes nothing."""
    transform, number = optimizer(config, deviation), -(-config.batch // config.chunk)
    key = jax.random.fold_in(jax.random.key(config.seed), 1)
    chunk = _deviation_gradient if deviation else chunk_gradient

    def mean_gradient(params: Params, step: Array):
        def add_chunk(index: Array, total):
            own = jax.random.fold_in(jax.random.fold_in(key, step), index)
            return jax.tree.map(lambda t, v: t + v / number, total, chunk(params, config, shape, own))

        zero = jax.tree.map(jnp.zeros_like, (jnp.zeros(()), params))
        return jax.lax.psum(jax.lax.fori_loop(*share(number, mesh), add_chunk, zero), AXIS)

    def step(state: State):
        loss, gradient = jax.shard_map(
            mean_gradient,
            mesh=mesh,
            in_specs=(PartitionSpec(), PartitionSpec()),
            out_specs=PartitionSpec(),
            check_vma=False,  # no derivative goes through this
        )(state.params, state.step)
        parts, own = [*_split(state.params)], _split(gradient)[deviation]
        updates, inner = transform.update(own, state.optimizer[deviation], parts[deviation])
        parts[deviation] = optax.apply_updates(parts[deviation], updates)
        optimizers = tuple(inner if i == deviation else state.optimizer[i] for i in (0, 1))
        params = {**parts[0], "deviation": parts[1]}
        return State(params, optimizers, state.step + 1), {"loss": loss, "norm": optax.tree.norm(own)}

    return jax.jit(step, donate_argnums=0, compiler_options=compiler_options())
