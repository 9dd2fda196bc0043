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
from scipy.stats import qmc

from alx.attention import attend

__all__ = ["Network", "Policy", "PolicyConfig", "apply", "decide", "encode", "init"]

Network = Literal["query", "paper", "static"]
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
        network: ``paper`` is the paper's, ``query`` the step-aware default, ``static`` a fixed design
            that only counts the points.
    """

    dim: int
    T: int
    n_init: int = 1
    network: Network = "query"

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
    config: PolicyConfig = struct.field(pytree_node=False)


def init(key: Array, config: PolicyConfig) -> Params:
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


@functools.cache
def _structure(config: PolicyConfig):
    return nnx.split(nnx.eval_shape(lambda: NETWORKS[config.network](config, nnx.Rngs(params=0))))


def _network(params: Params, config: PolicyConfig):
    graph, abstract = _structure(config)
    state = jax.tree.map(lambda x: x, abstract)
    nnx.replace_by_pure_dict(state, params)
    return cast(Any, nnx.merge(graph, state))


class Linear(nnx.Module):
    """W x + b on the leading axis."""

    def __init__(self, fan_in: int, fan_out: int, rngs: nnx.Rngs, use_bias: bool = True, zero: bool = False):
        bound = 0.0 if zero else fan_in**-0.5

        def draw(shape):
            return jax.random.uniform(rngs.params(), shape, minval=-bound, maxval=bound)

        self.kernel = nnx.Param(draw((fan_out, fan_in)))
        self.bias = nnx.Param(draw((fan_out,))) if use_bias else None

    def __call__(self, x: Array) -> Array:
        out = jnp.tensordot(self.kernel[...], x, 1)
        return out if self.bias is None else out + _column(self.bias[...], out)


class LayerNorm(nnx.Module):
    """Zero mean and unit variance along the leading axis, then a learned scale and shift."""

    def __init__(self, width: int):
        self.scale = nnx.Param(jnp.ones(width))
        self.shift = nnx.Param(jnp.zeros(width))

    def __call__(self, x: Array) -> Array:
        centred = x - x.mean(0)
        normal = centred * jax.lax.rsqrt(jnp.square(centred).mean(0) + 1e-5)
        return normal * _column(self.scale[...], x) + _column(self.shift[...], x)


def _column(vector: Array, like: Array) -> Array:
    return vector.reshape(vector.shape + (1,) * (like.ndim - 1))


def _heads(x: Array, heads: int) -> Array:
    return x.reshape(heads, x.shape[0] // heads, *x.shape[1:])


def _into_cube(x: Array) -> Array:
    return (jnp.tanh(x) + 1) / 2


class PaperNetwork(nnx.Module):
    """The network of the paper: 47,105 parameters at D=1, 48,130 at D=2."""

    width, heads, hidden = 32, 8, 512

    def __init__(self, config: PolicyConfig, rngs: nnx.Rngs):
        self.encoder = MLP(config.dim + 1, self.hidden, self.width, rngs)
        self.first = Block(self.width, self.heads, rngs)
        self.second = Block(self.width, self.heads, rngs)
        self.mix = Linear(self.width, self.width, rngs)
        self.decoder = MLP(self.width, self.hidden, config.dim, rngs)

    def encode(self, x: Array, y: Array):
        token = self.encoder(jnp.concatenate([x, y[None]]))
        return token, *self.first.project(token)

    def decide(self, points, mask: Array) -> Array:
        token, *qkv = points
        token = self.first(token, *qkv, mask)
        token = self.second(token, *self.second.project(token), mask)
        # The last linear layer commutes with the sum over the set, so it acts once and not on each point.
        pooled, count = jnp.where(mask, token, 0).sum(1), mask.sum(0)
        pooled = jnp.tensordot(self.mix.kernel[...], pooled, 1) + count * _column(self.mix.bias[...], pooled)
        return _into_cube(self.decoder(pooled))


class MLP(nnx.Module):
    """Linear, softplus, Linear."""

    def __init__(self, fan_in: int, hidden: int, fan_out: int, rngs: nnx.Rngs):
        self.inner = Linear(fan_in, hidden, rngs)
        self.outer = Linear(hidden, fan_out, rngs)

    def __call__(self, x: Array) -> Array:
        return self.outer(jax.nn.softplus(self.inner(x)))


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

    def __call__(self, token: Array, query: Array, key: Array, value: Array, mask: Array) -> Array:
        out = attend(*(_heads(z, self.heads) for z in (query, key, value)), mask)
        token = self.norm_attention(token + out.reshape(token.shape))
        return self.norm_mlp(token + self.outer(jax.nn.relu(self.inner(token))))


class QueryNetwork(nnx.Module):
    """The default network: one query token, aware of the step, attends to the single points.

    A step costs O(n) instead of O(n^2), and each point is encoded once. The output starts at a scrambled
    Sobol design (the last layer is zero), so that training only improves on a space-filling design; step
    and design depend on the number of points alone, so the policy is invariant to their order.
    """

    width, heads, hidden, layers = 64, 8, 128, 2

    def __init__(self, config: PolicyConfig, rngs: nnx.Rngs):
        width = self.width
        self.encoder = MLP(config.dim + 1, self.hidden, width, rngs)
        self.keys = nnx.List([Linear(width, width, rngs, use_bias=False) for _ in range(self.layers)])
        self.values = nnx.List([Linear(width, width, rngs) for _ in range(self.layers)])
        self.steps = nnx.Param(0.1 * jax.random.normal(rngs.params(), (width, STEPS)))
        self.layer = nnx.List([QueryLayer(width, self.heads, rngs) for _ in range(self.layers)])
        self.norm = LayerNorm(width)
        self.hidden_layer = Linear(width, self.hidden, rngs)
        self.outer = Linear(self.hidden, config.dim, rngs, zero=True)
        self.design = nnx.Param(sobol_design(config.dim))
        self.last_step = config.capacity - 1

    def encode(self, x: Array, y: Array):
        token = self.encoder(jnp.concatenate([x, y[None]]))
        return [(key(token), value(token)) for key, value in zip(self.keys, self.values, strict=True)]

    def decide(self, points, mask: Array) -> Array:
        count = mask.sum(0)
        token = self.steps[...][:, jnp.minimum(count, self.last_step)]
        for layer, (key, value) in zip(self.layer, points, strict=True):
            token = layer(token, key, value, mask)
        move = self.outer(jax.nn.relu(self.hidden_layer(self.norm(token))))
        return _into_cube(move + self.design[...][:, count % STEPS])


class QueryLayer(nnx.Module):
    """The query token attends to the points, then passes a small MLP; pre-norm."""

    def __init__(self, width: int, heads: int, rngs: nnx.Rngs):
        self.heads = heads
        self.norm_attention = LayerNorm(width)
        self.query = Linear(width, width, rngs)
        self.norm_mlp = LayerNorm(width)
        self.inner = Linear(width, 2 * width, rngs)
        self.outer = Linear(2 * width, width, rngs)

    def __call__(self, token: Array, key: Array, value: Array, mask: Array) -> Array:
        query = self.query(self.norm_attention(token))[:, None]
        query = jnp.broadcast_to(query, query.shape[:2] + key.shape[2:])
        out = attend(*(_heads(z, self.heads) for z in (query, key, value)), mask)
        # An empty history has nothing to attend to.
        token = token + jnp.where(mask.any(0), out.reshape(query[:, 0].shape), 0)
        return token + self.outer(jax.nn.relu(self.inner(self.norm_mlp(token))))


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
    """A scrambled Sobol design ``[D, STEPS]``, before the tanh."""
    design = qmc.Sobol(dim, seed=0).random(STEPS).T
    return jnp.asarray(np.arctanh(0.98 * (2 * design - 1)), float)


NETWORKS = {"paper": PaperNetwork, "query": QueryNetwork, "static": StaticNetwork}
