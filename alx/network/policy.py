"""The policy phi: the set of points measured so far -> the next input.

Arrays lead with what a single experiment has and trail with experiments: inputs ``x [D, n, ...]``,
outputs ``y [n, ...]``, tokens ``[width, n, ...]``. Every dense layer is then one matrix product however
many experiments run at once. A network works in two halves, so that a rollout and a learner encode each
point only once: ``encode`` maps points to whatever the network keeps of them, ``decide`` maps the set of
kept points to the next input.
"""

import dataclasses
import functools
from typing import Any, Literal, cast, get_args

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx, struct
from jax import Array

from alx.network.attention import attend
from alx.network.judge import Judge, JudgeConfig
from alx.network.layers import column, dense, normalise, shift, softplus
from alx.network.pooling import pool
from alx.network.sight import Scene

__all__ = ["Network", "Policy", "PolicyConfig", "apply", "decide", "deviation", "encode", "init", "score"]

Network = Literal["anchors", "paper", "static"]
Params = Any  # a nested dict of arrays

# The step-aware network has a row of its own for each number of points; the rows beyond the trained
# ones stay a space-filling design, so that a user may go past the budget.
STEPS = 256


@dataclasses.dataclass(frozen=True)
class PolicyConfig:
    """What the network looks like and what it was made for.

    Attributes:
        dim: number of inputs D.
        T: number of queries it is trained for.
        n_init: number of labelled points given before the first query.
        network: ``paper`` is the paper's, ``anchors`` the step-aware default, ``static`` a fixed design
            that only counts the points.
    """

    dim: int
    T: int
    n_init: int = 1
    network: Network = "anchors"

    def __post_init__(self):
        if not (isinstance(self.dim, int) and self.dim >= 1):
            raise ValueError(f"dim must be a whole number of at least 1, got {self.dim}")
        if not (isinstance(self.T, int) and self.T >= 1):
            raise ValueError(f"T must be a whole number of at least 1, got {self.T}")
        if not (isinstance(self.n_init, int) and self.n_init >= 0):
            raise ValueError(f"n_init must be a whole number of at least 0, got {self.n_init}")
        if self.network not in get_args(Network):
            raise ValueError(f"network must be one of {', '.join(get_args(Network))}, got {self.network!r}")

    @property
    def capacity(self) -> int:
        """Points in a full history: the initial ones and T queries."""
        return self.n_init + self.T


@struct.dataclass
class Policy:
    """A trained network: a pytree whose leaves are the weights; the config is static."""

    params: Params
    config: PolicyConfig | JudgeConfig = struct.field(pytree_node=False)


def init(key: Array, config: PolicyConfig | JudgeConfig) -> Params:
    """Fresh weights."""
    return nnx.to_pure_dict(nnx.state(NETWORKS[config.network](config, nnx.Rngs(params=key))))


def encode(params: Params, config: PolicyConfig, x: Array, y: Array) -> Any:
    """What the network keeps of points ``x [D, ...]``, ``y [...]``: a pytree of ``[width, ...]``."""
    return _network(params, config).encode(x, y)


def decide(params: Params, config: PolicyConfig, points: Any, mask: Array) -> Array:
    """The next input ``[D, ...]`` from encoded points ``[width, n, ...]`` and their mask ``[n, ...]``."""
    return _network(params, config).decide(points, mask)


def apply(params: Params, config: PolicyConfig, x: Array, y: Array, mask: Array) -> Array:
    """The next input ``[D, ...]`` from points ``x [D, n, ...]``, ``y [n, ...]`` and their mask."""
    return decide(params, config, encode(params, config, x, y), mask)


def score(params: Params, config: JudgeConfig, scene: Scene) -> Array:
    """The scores ``[C]`` of the places of a scene."""
    return _network(params, config)(scene)


def deviation(params: Params, config: JudgeConfig, scene: Scene) -> Array:
    """log of the factor ``[C]`` by which the belief's deviation is calibrated at each place."""
    return _network(params, config).deviation(scene)


@functools.cache
def _structure(config: PolicyConfig | JudgeConfig):
    return nnx.split(nnx.eval_shape(lambda: NETWORKS[config.network](config, nnx.Rngs(params=0))))


def _network(params: Params, config: PolicyConfig | JudgeConfig):
    graph, abstract = _structure(config)
    state = jax.tree.map(lambda x: x, abstract)
    nnx.replace_by_pure_dict(state, params)
    return cast(Any, nnx.merge(graph, state))


class Linear(nnx.Module):
    """W x + b on the leading axis; weights start at `scale` times their usual size."""

    def __init__(self, fan_in: int, fan_out: int, rngs: nnx.Rngs, use_bias: bool = True, scale: float = 1.0):
        bound = scale * fan_in**-0.5

        def draw(shape):
            return jax.random.uniform(rngs.params(), shape, minval=-bound, maxval=bound)

        self.kernel = nnx.Param(draw((fan_out, fan_in)))
        self.bias = nnx.Param(draw((fan_out,))) if use_bias else None

    def __call__(self, x: Array) -> Array:
        out = dense(self.kernel[...], x)
        return out if self.bias is None else shift(out, self.bias[...])


class LayerNorm(nnx.Module):
    """Zero mean and unit variance along the leading axis, then a learned scale and shift."""

    def __init__(self, width: int):
        self.scale = nnx.Param(jnp.ones(width))
        self.shift = nnx.Param(jnp.zeros(width))

    def __call__(self, x: Array) -> Array:
        return normalise(x) * column(self.scale[...], x) + column(self.shift[...], x)


def _heads(x: Array, heads: int) -> Array:
    return x.reshape(heads, x.shape[0] // heads, *x.shape[1:])


def _into_cube(x: Array) -> Array:
    return (jnp.tanh(x) + 1) / 2


class PaperNetwork(nnx.Module):
    """The network of the paper: 47,105 parameters at D=1, 48,130 at D=2.

    The encoder starts with weights of five times the usual size, with which policies left the smooth paths
    they start with at D = 2 much sooner: docs/notebook/results.md.
    """

    width, heads, hidden = 32, 8, 512
    encoder_scale = 5.0

    def __init__(self, config: PolicyConfig, rngs: nnx.Rngs):
        self.encoder = MLP(config.dim + 1, self.hidden, self.width, rngs, self.encoder_scale)
        self.first = Block(self.width, self.heads, rngs)
        self.second = Block(self.width, self.heads, rngs)
        self.mix = Linear(self.width, self.width, rngs)
        self.decoder = MLP(self.width, self.hidden, config.dim, rngs)

    def encode(self, x: Array, y: Array):
        token = self.encoder(jnp.concatenate([x, y[None]]))
        return token, *self.first.project(token)

    def decide(self, points, mask: Array) -> Array:
        token, query, key, value = points
        token = self.first(token, (query, key, value), mask)
        token = self.second(token, self.second.project(token), mask)
        # The last linear layer commutes with the sum over the set, so it acts once and not on each point.
        pooled, count = jnp.where(mask, token, 0).sum(1), mask.sum(0)
        assert self.mix.bias is not None
        pooled = dense(self.mix.kernel[...], pooled) + count * column(self.mix.bias[...], pooled)
        return _into_cube(self.decoder(pooled))


class MLP(nnx.Module):
    """Linear, softplus, Linear."""

    def __init__(self, fan_in: int, hidden: int, fan_out: int, rngs: nnx.Rngs, scale: float = 1.0):
        self.inner = Linear(fan_in, hidden, rngs, scale=scale)
        self.outer = Linear(hidden, fan_out, rngs)

    def __call__(self, x: Array) -> Array:
        return self.outer(softplus(self.inner(x)))


class Block(nnx.Module):
    """A post-norm transformer block without an output projection after the heads."""

    def __init__(self, width: int, heads: int, rngs: nnx.Rngs):
        self.heads = heads
        self.query = Linear(width, width, rngs)
        self.key = Linear(width, width, rngs, use_bias=False)
        self.value = Linear(width, width, rngs, use_bias=False)
        self.norm_attention = LayerNorm(width)
        self.inner = Linear(width, width, rngs)
        self.outer = Linear(width, width, rngs)
        self.norm_mlp = LayerNorm(width)

    def project(self, token: Array) -> tuple[Array, Array, Array]:
        return self.query(token), self.key(token), self.value(token)

    def __call__(self, token: Array, projected: tuple[Array, Array, Array], mask: Array) -> Array:
        query, key, value = (_heads(z, self.heads) for z in projected)
        out = attend(query, key, value, mask)
        token = self.norm_attention(token + out.reshape(token.shape))
        return self.norm_mlp(token + self.outer(jax.nn.relu(self.inner(token))))


class AnchorNetwork(nnx.Module):
    """The default network: what was measured where, as seen from learned anchors in the domain.

    Each anchor sums over the points, weighted by their nearness: how many there are, their y and its size.
    An MLP maps that picture and the number of points to a shift of a fixed design. The output starts at a
    scrambled Sobol design (the last layer is zero), so that training only improves on a space-filling one.
    A step costs O(n), and being sums, all of it is invariant to the order of the points.
    """

    anchors, width, hidden = 64, 128, 256

    def __init__(self, config: PolicyConfig, rngs: nnx.Rngs):
        anchors, width = self.anchors, self.width
        self.centres = nnx.Param(jnp.asarray(_sobol(config.dim, 3, anchors).T, float))
        self.log_radius = nnx.Param(jnp.full(anchors, np.log(0.5 * anchors ** (-1 / config.dim))))
        self.steps = nnx.Param(0.1 * jax.random.normal(rngs.params(), (width, STEPS)))
        self.picture = Linear(6 * anchors, width, rngs)
        self.norm = LayerNorm(width)
        self.inner = Linear(width, self.hidden, rngs)
        self.outer = Linear(self.hidden, width, rngs)
        self.norm_move = LayerNorm(width)
        self.inner_move = Linear(width, self.hidden, rngs)
        self.outer_move = Linear(self.hidden, config.dim, rngs, scale=0.0)
        self.design = nnx.Param(sobol_design(config.dim))
        self.last_step = config.capacity - 1

    def encode(self, x: Array, y: Array):
        centres = self.centres[...]
        square = sum(jnp.square(x[d][None] - column(centres[d], x)) for d in range(x.shape[0]))
        nearness = jnp.exp(-0.5 * square * column(jnp.exp(-2 * self.log_radius[...]), x))
        # Small and large outputs alike: the amplitude of a function may vary tenfold over its domain.
        size = jnp.arcsinh(10 * jnp.sqrt(jnp.square(y) + 1e-4))
        values = (jnp.ones_like(y), 2 * y, jnp.arcsinh(10 * y), size)
        return nearness, jnp.concatenate([value[None] for value in values])

    def decide(self, points, mask: Array) -> Array:
        nearness, values = points
        count = mask.sum(0)
        sums = pool(nearness, jnp.where(mask, values, 0))
        means = sums[2:] / (sums[:1] + 0.1)
        picture = jnp.concatenate([sums, means]).reshape(6 * self.anchors, *sums.shape[2:])
        token = self.steps[...][:, jnp.minimum(count, self.last_step)] + self.picture(picture)
        token = token + self.outer(jax.nn.relu(self.inner(self.norm(token))))
        move = self.outer_move(jax.nn.relu(self.inner_move(self.norm_move(token))))
        return _into_cube(move + self.design[...][:, count % STEPS])


class StaticNetwork(nnx.Module):
    """A fixed design: the next input depends on the number of points alone."""

    def __init__(self, config: PolicyConfig, rngs: nnx.Rngs):
        self.design = nnx.Param(sobol_design(config.dim))

    def encode(self, x: Array, y: Array):
        return y[None]

    def decide(self, points, mask: Array) -> Array:
        moved = self.design[...][:, mask.sum(0) % STEPS]
        return _into_cube(jnp.broadcast_to(moved, moved.shape[:1] + points.shape[2:]))


def sobol_design(dim: int) -> Array:
    """A scrambled Sobol design ``[D, STEPS]``, before the tanh; the empty history starts in the centre."""
    design = np.concatenate([np.full((1, dim), 0.5), _sobol(dim, 0, STEPS)[:-1]])
    return jnp.asarray(np.arctanh(np.clip(2 * design.T - 1, -0.98, 0.98)), float)


def _sobol(dim: int, seed: int, number: int) -> np.ndarray:
    """A scrambled Sobol design ``[number, D]``."""
    from scipy.stats import qmc  # takes as long to import as all of JAX, and few need it

    return qmc.Sobol(dim, rng=seed).random(number)


NETWORKS = {"anchors": AnchorNetwork, "judge": Judge, "paper": PaperNetwork, "static": StaticNetwork}
