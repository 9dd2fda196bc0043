"""The trainer of the general policy: the judge first, then the calibrated deviation."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from alx.network.policy import Params, Policy, init
from alx.train import calibrate_step
from alx.train.calibrate_step import UPDATES
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
        judge = [("error", self.config.steps)] if self.config.steps else []
        return [*judge, *([("deviation", self.steps)] if self.config.deviation_steps else [])]

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
        shapes = self.config.judge_shapes
        compiled = functools.cache(functools.partial(_compile, self.config, mesh))
        calibrate = calibrate_step.make_step(self.config, mesh, optimizer(self.config, deviation=True))

        def step(state: State) -> tuple[State, dict[str, Array]]:
            number = int(state.step)
            if number >= self.config.steps:
                return calibrate(state)
            return jax.block_until_ready(compiled(shapes[number % len(shapes)])(state))

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
    """RAdam with clipped gradients; the rate falls every epoch of the judge's steps or of the deviation's."""
    steps, updates = (config.deviation_steps, UPDATES) if deviation else (config.steps, 1)
    decay = config.left ** (EPOCH / max(steps, 1))
    schedule = optax.exponential_decay(config.lr, EPOCH * updates, decay, staircase=True)
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


def _compile(config: GeneralConfig, mesh: Mesh, shape: Shape):
    """A step on experiments of one shape: the devices share its chunks, and their number changes nothing."""
    transform, number = optimizer(config), -(-config.batch // config.chunk)
    key = jax.random.fold_in(jax.random.key(config.seed), 1)

    def mean_gradient(params: Params, step: Array):
        def add_chunk(index: Array, total):
            own = jax.random.fold_in(jax.random.fold_in(key, step), index)
            found = chunk_gradient(params, config, shape, own)
            return jax.tree.map(lambda t, v: t + v / number, total, found)

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
        (judge, deviation), (own, _) = _split(state.params), _split(gradient)
        updates, inner = transform.update(own, state.optimizer[0], judge)
        params = {**cast(Params, optax.apply_updates(judge, updates)), "deviation": deviation}
        metrics = {"loss": loss, "norm": optax.tree.norm(own)}
        return State(params, (inner, state.optimizer[1]), state.step + 1), metrics

    return jax.jit(step, donate_argnums=0, compiler_options=compiler_options())
