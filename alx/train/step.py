"""Training: state and the step, data-parallel over all devices of all hosts.

A step simulates a batch of experiments in chunks small enough to stay in a processor's cache, and
accumulates their gradients: memory is bounded by the chunk, not by the batch. The random numbers of a chunk
depend on the seed, the step and the chunk's number alone, so the result does not depend on how many
devices share the work. A device draws what its chunks of one kernel share only once.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from alx.network import policy
from alx.network.policy import Params
from alx.train import rollout, simulate
from alx.train.config import TrainConfig
from alx.train.posterior import posterior
from alx.train.rollout import Trajectory
from alx.train.simulate import Batch, Simulation

__all__ = ["EPOCH", "State", "initial_state", "make_mesh", "make_step", "make_validation"]

EPOCH = 50  # steps
VALIDATION = 512  # held-out functions
AXIS = "experiments"
VECTOR = 16  # numbers that a processor works on at once
CHUNK, ATTENDING = 64, 21  # experiments that stay in a cache, with up to so many points that attend


class State(NamedTuple):
    """What changes from step to step."""

    params: Params
    optimizer: Any
    step: Array


def optimizer(config: TrainConfig) -> optax.GradientTransformation:
    """RAdam with clipped gradients and the paper's staircase decay."""
    schedule = optax.exponential_decay(config.lr, EPOCH, config.decay, staircase=True)
    return optax.chain(optax.clip_by_global_norm(config.clip), optax.radam(schedule))


def make_mesh() -> Mesh:
    """All devices of all hosts in a row."""
    return Mesh(np.array(jax.devices()), (AXIS,))


def initial_state(config: TrainConfig, mesh: Mesh, params: Params | None = None) -> State:
    """The given weights or fresh ones, the same on every device."""

    def build(params):
        if params is None:
            params = policy.init(jax.random.fold_in(jax.random.key(config.seed), 0), config.policy)
        return State(params, optimizer(config).init(params), jnp.zeros((), jnp.int32))

    return jax.jit(build, out_shardings=NamedSharding(mesh, PartitionSpec()))(params)


class Chunks(NamedTuple):
    """How a batch is cut: `number` chunks of `size` experiments.

    The kernels of a `group` are simulated together. A group too large for one chunk has `per_group` of them.
    """

    group: Batch
    size: int
    per_group: int
    number: int


def split_batch(batch: Batch, largest: int) -> Chunks:
    """Even chunks of at most `largest` experiments, of several whole kernels or of a part of one."""
    kernels = _divisor(batch.kernels, max(1, largest // (batch.functions * batch.noises)))
    group = batch._replace(kernels=kernels)
    per_group = -(-group.experiments // largest)
    size = -(-group.experiments // per_group)
    if per_group > 1:
        size = min(-(-size // VECTOR) * VECTOR, largest)
    return Chunks(group, size, per_group, batch.kernels // kernels * per_group)


def largest_chunk(config: TrainConfig) -> int:
    """How many experiments to simulate together: 64, but fewer if many points attend to each other.

    Attention among all points is quadratic in their number: at T = 40 and 80 the paper's network took twice
    and three times as long in chunks twice as large.
    """
    if config.chunk is not None:
        return config.chunk
    if config.policy.network != "paper":
        return CHUNK
    fitting = CHUNK * ATTENDING // config.policy.capacity
    return min(max(fitting // VECTOR, 1) * VECTOR, CHUNK)


def _divisor(n: int, largest: int) -> int:
    return max(d for d in range(1, min(n, largest) + 1) if n % d == 0)


def draw_group(config: TrainConfig, chunks: Chunks, key: Array, index: Array) -> Simulation:
    """Draw the experiments of a group of kernels."""
    key_kernel, own = (jax.random.fold_in(jax.random.fold_in(key, stream), index) for stream in (0, 1))
    key_draw, _, _ = jax.random.split(own, 3)
    return simulate.draw_shared(key_kernel, key_draw, config.prior, config.policy, chunks.group)


def chunk_loss(
    config: TrainConfig, chunks: Chunks, params: Params, key: Array, drawn: Simulation, index: Array
) -> Array:
    """The loss of one chunk of a group: the mean over all chunks is the mean over all experiments."""
    group, size, per_group, _ = chunks
    _, key_size, key_objective = jax.random.split(jax.random.fold_in(jax.random.fold_in(key, 1), index), 3)
    if per_group == 1:
        simulation, counted = simulate.broadcast_shared(drawn), True
    else:
        # The last chunk of a group may reach back into the one before; what that one counts has no weight.
        first = index % per_group * size
        start = jnp.minimum(first, group.experiments - size)
        simulation = simulate.take(drawn, start, size)
        counted = start + jnp.arange(size) >= first
    if config.myopic:
        trajectory = rollout.myopic(key_size, params, config.policy, config.prior, simulation)
    else:
        trajectory = rollout.nonmyopic(params, config.policy, config.prior, simulation, config.bound)
    losses = config.loss(key_objective, config.prior, simulation, trajectory)
    return losses.sum(where=counted) / (group.experiments / per_group)


def make_step(config: TrainConfig, mesh: Mesh) -> Callable[[State], tuple[State, dict[str, Array]]]:
    """The compiled training step: state -> next state and metrics, when they are there."""
    # Several steps under way at once would wait for each other for ever: the devices of a CPU share one pool
    # of threads, and each of them keeps one while it waits for the sum over all.
    step = jitted_step(config, mesh)
    return lambda state: jax.block_until_ready(step(state))


def jitted_step(config: TrainConfig, mesh: Mesh):
    """The training step under `jax.jit`; see `make_step`."""
    chunks = split_batch(config.batch, largest_chunk(config))
    transform = optimizer(config)
    key = jax.random.fold_in(jax.random.key(config.seed), 1)

    def mean_gradient(params: Params, step: Array):
        key_step = jax.random.fold_in(key, step)
        first, end = share(chunks.number, mesh)

        def add_chunk(drawn: Simulation, index: Array, total):
            value = jax.value_and_grad(chunk_loss, argnums=2)(config, chunks, params, key_step, drawn, index)
            return jax.tree.map(lambda t, v: t + v / chunks.number, total, value)

        def add_group(group: Array, total):
            drawn = draw_group(config, chunks, key_step, group)
            lower = jnp.maximum(first, group * chunks.per_group)
            upper = jnp.minimum(end, (group + 1) * chunks.per_group)
            return jax.lax.fori_loop(lower, upper, functools.partial(add_chunk, drawn), total)

        # Each device differentiates its own copy; one sum at the end makes the gradient of all.
        params = jax.lax.pcast(params, AXIS, to="varying")
        zero = jax.tree.map(jnp.zeros_like, (jax.lax.pcast(jnp.zeros(()), AXIS, to="varying"), params))
        groups = first // chunks.per_group, -(-end // chunks.per_group)
        return jax.lax.psum(jax.lax.fori_loop(*groups, add_group, zero), AXIS)

    def step(state: State):
        loss, gradient = jax.shard_map(
            mean_gradient, mesh=mesh, in_specs=(PartitionSpec(), PartitionSpec()), out_specs=PartitionSpec()
        )(state.params, state.step)
        updates, inner = transform.update(gradient, state.optimizer, state.params)
        params = optax.apply_updates(state.params, updates)
        return State(params, inner, state.step + 1), {"loss": loss, "norm": optax.tree.norm(gradient)}

    return jax.jit(step, donate_argnums=0, compiler_options=compiler_options())


def share(number: int, mesh: Mesh) -> tuple[Array, Array]:
    """First and end of the items this device works on; the last devices may have fewer, or none."""
    each = -(-number // mesh.size)
    first = jax.lax.axis_index(AXIS) * each
    return jnp.minimum(first, number), jnp.minimum(first + each, number)


def compiler_options() -> dict[str, Any]:
    """On CPUs every device is a single thread, and vectors are as wide as the processor has them."""
    if jax.default_backend() != "cpu":
        return {}
    return {"xla_cpu_prefer_vector_width": 512, "xla_cpu_multi_thread_eigen": False}


def make_validation(config: TrainConfig, mesh: Mesh, functions: int = VALIDATION):
    """RMSE of the GP posterior with the true theta on held-out functions, after T queries.

    Returns two compiled functions of params: RMSE of the policy, and RMSE of uniform queries, which need no
    params. The held-out functions are the same whatever the training seed and its chunks.
    """
    size = min(CHUNK, functions)
    number = functions // size
    key = jax.random.key(2**31 + 1)

    def rmse(params: Params, queries: Callable) -> Array:
        def add_chunk(index: Array, total: Array) -> Array:
            key_kernel, key_own = jax.random.split(jax.random.fold_in(key, index))
            simulation = simulate.simulate(key_kernel, key_own, config.prior, config.policy, Batch(size))
            trajectory = queries(params, simulation)
            mean = posterior(config.prior, simulation.theta, trajectory, simulation.grid)[0]
            value = jnp.sqrt(jnp.square(mean - simulation.f_grid).mean(0)).mean()
            return total + value / number

        zero, params = jax.lax.pcast((jnp.zeros(()), params), AXIS, to="varying")
        return jax.lax.psum(jax.lax.fori_loop(*share(number, mesh), add_chunk, zero), AXIS)

    def active(params, simulation):
        return rollout.nonmyopic(params, config.policy, config.prior, simulation)

    def uniform(params, simulation):
        y = simulate.observe(config.prior, simulation, simulation.x, simulation.noise)
        mask = jnp.ones((y.shape[0],) + (1,) * (y.ndim - 1), bool)
        return Trajectory(simulation.x, y, mask, config.policy.T)

    def compiled(queries):
        sharded = jax.shard_map(
            lambda params: rmse(params, queries),
            mesh=mesh,
            in_specs=PartitionSpec(),
            out_specs=PartitionSpec(),
        )
        return jax.jit(sharded, compiler_options=compiler_options())

    return compiled(active), compiled(uniform)
