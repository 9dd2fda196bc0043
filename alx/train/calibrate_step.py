"""The steps of the deviation: what is drawn is used again, for it is dear, and a gradient cheap.

A step draws data sets of one shape, in turn, and makes some updates by the last draw of every shape.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from alx.network.policy import Params
from alx.train import calibrate
from alx.train.general_config import GeneralConfig, Shape
from alx.train.step import AXIS, State, compiler_options

__all__ = ["UPDATES", "make_step"]

UPDATES = 3  # in a step

Draw = Callable[[Params, int], Any]
Gradient = Callable[[Params, Any], tuple[Array, Params]]


def make_step(
    config: GeneralConfig, mesh: Mesh, transform: optax.GradientTransformation
) -> Callable[[State], tuple[State, dict[str, Array]]]:
    """The step, which compiles for each shape when it first comes."""
    shapes, options = config.shapes, {"compiler_options": compiler_options()}
    compiled = functools.cache(functools.partial(_compile, config, mesh))
    kept: dict[Shape, tuple[int, Any]] = {}

    @functools.partial(jax.jit, **options)
    def update(state: State, found: list[tuple[Array, Params]]) -> tuple[State, dict[str, Array]]:
        loss, gradient = jax.tree.map(lambda *each: sum(each) / len(each), *found)
        judge, own = state.optimizer
        updates, own = transform.update(gradient, own, state.params["deviation"])
        params = {**state.params, "deviation": optax.apply_updates(state.params["deviation"], updates)}
        return State(params, (judge, own), state.step), {"loss": loss, "norm": optax.tree.norm(gradient)}

    def step(state: State) -> tuple[State, dict[str, Array]]:
        number = int(state.step)
        # After a resume there is nothing yet; what was drawn hangs on the judge and the step alone.
        for index in range(max(number - len(shapes) + 1, config.steps), number + 1):
            shape = shapes[index % len(shapes)]
            if shape not in kept or kept[shape][0] != index:
                kept[shape] = index, jax.block_until_ready(compiled(shape)[0](state.params, index))
        metrics: dict[str, Array] = {}
        for _ in range(UPDATES):
            found = [compiled(shape)[1](state.params, kept[shape][1]) for shape in shapes if shape in kept]
            state, metrics = jax.block_until_ready(update(state, found))
        return state._replace(step=state.step + 1), metrics

    return step


def _compile(config: GeneralConfig, mesh: Mesh, shape: Shape) -> tuple[Draw, Gradient]:
    """Draw a batch of one shape, and its loss and gradient: the devices share the chunks of it."""
    number = -(-config.batch // config.chunk)
    each = -(-number // mesh.size)
    key = jax.random.fold_in(jax.random.key(config.seed), 2)

    def own_chunks() -> Array:
        return jax.lax.axis_index(AXIS) * each + jnp.arange(each)

    def draw(params: Params, step: Array):
        def chunk(index: Array):
            own = jax.random.fold_in(jax.random.fold_in(key, step), index)
            return calibrate.examples(params, config, shape, own)

        return jax.lax.map(chunk, own_chunks())

    def gradient(params: Params, drawn: Any) -> tuple[Array, Params]:
        def loss(deviation: Params) -> Array:
            losses = jax.vmap(lambda seen: calibrate.loss({**params, "deviation": deviation}, config, *seen))
            # With a number of devices that does not divide that of chunks, the last one has some in vain.
            return jnp.where(own_chunks() < number, losses(drawn), 0).sum() / number

        return jax.lax.psum(jax.value_and_grad(loss)(params["deviation"]), AXIS)

    shared, split = PartitionSpec(), PartitionSpec(AXIS)
    sharded = functools.partial(jax.shard_map, mesh=mesh, check_vma=False)
    functions = (
        sharded(draw, in_specs=(shared, shared), out_specs=split),
        sharded(gradient, in_specs=(shared, split), out_specs=shared),
    )
    drawn, found = (jax.jit(f, compiler_options=compiler_options()) for f in functions)
    return drawn, found
